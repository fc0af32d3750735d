"""Records, posts and blocks that were read lately, by the ids of their documents, which never change. Bounded in number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from porism.store.opensearch.generation import Generation
from porism.store.opensearch.schema import Kind

MOST_RECORDS = 20_000
MOST: Mapping[Kind, int] = {"threads": MOST_RECORDS, "formulas": 4 * MOST_RECORDS, "posts": 2_000, "rows": 2_000}
Fields = Mapping[str, Any]


class RecordCache:
    """Documents in two halves: when the young one is full it becomes the old one, and the old one before it is forgotten. A lookup takes no lock."""

    def __init__(self, most: int) -> None:
        self._half = max(1, most // 2)
        self._young: dict[tuple[str, str], Fields] = {}
        self._old: dict[tuple[str, str], Fields] = {}
        self._lock = Lock()

    def get(self, key: tuple[str, str]) -> Fields | None:
        """Return a document; one of the old half becomes young again."""
        found = self._young.get(key)
        if found is None and (found := self._old.get(key)) is not None:
            self.put(key, found)
        return found

    def put(self, key: tuple[str, str], fields: Fields) -> None:
        """Keep a document."""
        with self._lock:
            if len(self._young) >= self._half:
                self._old, self._young = self._young, {}
            self._young[key] = fields


class Documents:
    """Reads documents of a generation by their keys."""

    def __init__(self, caches: Mapping[Kind, RecordCache]) -> None:
        self._caches = caches

    def read(self, generation: Generation, kind: Kind, keys: Sequence[Any], stored: Sequence[str]) -> dict[Any, Fields]:
        """Return the stored fields of documents by their keys, in the order of keys; missing ones are left out."""
        index, cache, versions = generation.index(kind), self._caches[kind], generation.versions[kind]
        place = f"{index}:{','.join(stored)}"
        found: dict[Any, Fields] = {}
        missing: dict[str, Any] = {}
        for key in keys:
            number = versions.id(key)
            known = cache.get((place, number))
            if known is not None:
                found[key] = known
            elif number:
                missing[number] = key
        if missing:
            for number, answer in zip(
                missing, generation.place.cluster.mget(index, list(missing), stored), strict=True
            ):
                if answer.get("found"):
                    found[missing[number]] = fields = answer.get("fields", {})
                    cache.put((place, number), fields)
            found = {key: found[key] for key in keys if key in found}
        return found


def new_caches() -> dict[Kind, RecordCache]:
    """Return empty caches."""
    return {kind: RecordCache(most) for kind, most in MOST.items()}
