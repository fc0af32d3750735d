"""What brings back an earlier state of a collection: the build before the present one, and snapshots in a repository of
the cluster.

A snapshot copies only what changed since the last one. The repository is registered by whoever runs the cluster
(`docs/how-to/cluster.md`). A snapshot holds the build that is served, with all its commits.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from porism.errors import PorismError
from porism.store.opensearch.places import ClusterPlace
from porism.store.opensearch.problems import Missing
from porism.store.opensearch.schema import KINDS

PREFIX = "porism"
POLL_SECONDS = 0.5
READY_SECONDS = 3600.0


def rollback(place: ClusterPlace) -> int:
    """Let the aliases name the build before the present one, which stays; return its number."""
    current = place.current()
    if current is None:
        place.manifest()  # says what is missing
    earlier = [build for build in place.builds() if current is not None and build < current]
    if not earlier:
        fix = "restore a snapshot, or copy the former index again"
        raise PorismError(f"there is no build before build {current}", where=str(place), fix=fix)
    place.show(max(earlier))
    return max(earlier)


@dataclass(frozen=True, slots=True)
class Taken:
    """A snapshot: its name, the collection and the build that it holds, when it was begun (ISO 8601), and whether it is
    complete."""

    name: str
    collection: str
    build: int
    begun: str
    state: str

    @property
    def is_complete(self) -> bool:
        """Return whether all of it is there."""
        return self.state == "SUCCESS"


class Repository:
    """A snapshot repository that the cluster knows."""

    def __init__(self, place: ClusterPlace, name: str) -> None:
        self._place, self._name = place, name
        self._cluster = place.cluster

    def take(self) -> Taken:
        """Take a snapshot of the build that is served, and wait until it is complete."""
        build = self._place.current()
        if build is None:
            self._place.manifest()  # says what is missing
            raise AssertionError("a collection without an alias has no manifest")
        name = f"{PREFIX}-{self._place.name}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
        body = {
            "indices": ",".join(self._place.index(kind, build) for kind in KINDS),
            "include_global_state": False,
            "metadata": {PREFIX: self._place.name, "build": build},
        }
        self._cluster.request("PUT", f"/_snapshot/{self._name}/{name}", body)
        while not (taken := self._get(name)).is_complete:
            if taken.state != "IN_PROGRESS":
                fix = "look into the log of the nodes, then take another one"
                raise PorismError(f"the snapshot {name} is {taken.state}", where=self._where, fix=fix)
            time.sleep(POLL_SECONDS)
        return taken

    def all(self) -> list[Taken]:
        """Return the snapshots that Porism took of any collection, the oldest first."""
        found = self._cluster.request("GET", f"/_snapshot/{self._name}/{PREFIX}-*")["snapshots"]
        return [_taken(one) for one in found if PREFIX in (one.get("metadata") or {})]

    def restore(self, name: str, replace: bool = False) -> int:
        """Restore a snapshot under the name of this collection, which may be another one than it was taken of; return
        the build.

        If the same build is there, `replace` removes it first; until the restored one is ready, the collection cannot
        be reached.
        """
        taken = self._get(name)
        if not taken.is_complete:
            fix = "choose another one"
            raise PorismError(f"the snapshot {name} is not complete ({taken.state})", where=self._where, fix=fix)
        if taken.build in self._place.builds():
            if not replace:
                fix = "give another name in the address, or --replace, which removes that build first"
                fact = f"build {taken.build} of the snapshot is in the cluster already"
                raise PorismError(fact, where=self._where, fix=fix)
            self._place.remove(taken.build)
        indexes = [self._place.index(kind, taken.build) for kind in KINDS]
        body = {
            "indices": ",".join(
                ClusterPlace(self._cluster, taken.collection).index(kind, taken.build) for kind in KINDS
            ),
            "include_global_state": False,
            "include_aliases": False,
            "rename_pattern": f"^{taken.collection}-",
            "rename_replacement": f"{self._place.name}-",
        }
        self._cluster.request("POST", f"/_snapshot/{self._name}/{name}/_restore", body, seconds=READY_SECONDS)
        self._wait(indexes)
        self._place.show(taken.build)
        return taken.build

    def _wait(self, indexes: list[str]) -> None:
        """Wait until each shard is there once; copies follow later."""
        path = f"/_cluster/health/{','.join(indexes)}"
        end = time.monotonic() + READY_SECONDS
        while self._cluster.request("GET", path, params={"level": "indices"})["status"] == "red":
            if time.monotonic() > end:
                fix = "look into the log of the nodes"
                raise PorismError("the restored indexes stay red", where=self._where, fix=fix)
            time.sleep(POLL_SECONDS)

    def _get(self, name: str) -> Taken:
        try:
            found = self._cluster.request("GET", f"/_snapshot/{self._name}/{name}")["snapshots"][0]
        except Missing as error:
            names = ", ".join(one.name for one in self.all()[-5:])
            raise PorismError(error.message, where=self._where, fix=f"the last ones are: {names or 'none'}") from None
        if PREFIX not in (found.get("metadata") or {}):
            fix = "choose one whose name begins with porism-"
            raise PorismError(f"the snapshot {name} was not taken by Porism", where=self._where, fix=fix)
        return _taken(found)

    @property
    def _where(self) -> str:
        return f"{self._place}, repository {self._name}"


def _taken(found: Any) -> Taken:
    about = found["metadata"]
    return Taken(found["snapshot"], about[PREFIX], int(about["build"]), found["start_time"], found["state"])
