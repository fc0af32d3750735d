"""Stores in a cluster for tests: names that no other test uses, and one without posts."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from uuid import uuid4

from porism.corpus.build.pipeline import build
from porism.corpus.store.collection import Collection
from porism.store.embedded.build import build_index
from porism.store.memory.store import RecordsSource
from porism.store.opensearch.load import copy_store
from porism.store.opensearch.places import ClusterPlace
from porism.store.opensearch.store import ClusterStore
from store.stores import FIRST

RUN = uuid4().hex[:8]


class Collections:
    """Makes collections in a cluster, and removes them at the end."""

    def __init__(self, hosts: str, folder: Path) -> None:
        self._hosts = hosts
        self._folder = folder
        self._numbers = count(1)
        self._made: list[str] = []

    def new_address(self) -> str:
        """Return the address of a collection that is not there yet."""
        self._made.append(f"opensearch://{self._hosts}/test-{RUN}-{next(self._numbers)}")
        return self._made[-1]

    def copy(self, index: Path) -> ClusterStore:
        """Return a store with a copy of an index."""
        address = self.new_address()
        copy_store(index, address)
        return ClusterStore.open(address)

    def empty(self) -> ClusterStore:
        """Return a store without posts: a copy of an index of one post, which is deleted."""
        index = self._folder / "first" / "index"
        if not index.exists():
            build([RecordsSource([FIRST], Path("site"))], self._folder / "first" / "collection", jobs=1)
            with Collection.open(self._folder / "first" / "collection") as collection:
                build_index(collection, index)
        store = self.copy(index)
        with store.writer() as writer:
            writer.delete([FIRST.id])
            writer.commit()
        return store

    def remove(self) -> None:
        """Remove all of them."""
        for address in self._made:
            remove(ClusterStore.open(address).place)


def remove(place: ClusterPlace) -> None:
    """Remove a collection."""
    for number in place.builds():
        place.remove(number)
    place.cluster.request("DELETE", f"/{place.state}", params={"ignore_unavailable": "true"})
