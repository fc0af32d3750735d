"""Records, posts and blocks that were read lately, by the version of their documents, which never changes. Bounded in
number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from porism.store.opensearch.generation import Generation
from porism.store.opensearch.packing import unpack_group
from porism.store.opensearch.schema import Kind

MOST_RECORDS = 20_000
MOST: Mapping[Kind, int] = {"threads": MOST_RECORDS, "formulas": 4 * MOST_RECORDS, "posts": 2_000, "rows": 2_000}
MOST_CACHES = 16  # one for each index and choice of fields; older builds go first
MANY_MISSING = 300  # formulas, from which on those of whole threads are read: fewer documents, and more bytes
RECORD = ("record",)
Fields = Mapping[str, Any]


class RecordCache:
    """Documents in two halves: when the young one is full it becomes the old one, and the old one before it is
    forgotten. A lookup takes no lock."""

    def __init__(self, most: int) -> None:
        self._half = max(1, most // 2)
        self._young: dict[Any, Fields] = {}
        self._old: dict[Any, Fields] = {}
        self._lock = Lock()

    def get_all(self, versions: Sequence[Any]) -> list[Fields | None]:
        """Return documents, None for each that is not here; those of the old half become young again."""
        found = list(map(self._young.get, versions))
        if None in found:
            for at, one in enumerate(found):
                if one is None and (old := self._old.get(versions[at])) is not None:
                    found[at] = old
                    self.put(versions[at], old)
        return found

    def put(self, version: Any, fields: Fields) -> None:
        """Keep a document."""
        with self._lock:
            if len(self._young) >= self._half:
                self._old, self._young = self._young, {}
            self._young[version] = fields


class Documents:
    """Reads documents of generations by their keys."""

    def __init__(self) -> None:
        self._caches: dict[tuple[str, Sequence[str]], RecordCache] = {}
        self._lock = Lock()

    def _cache(self, index: str, kind: Kind, stored: Sequence[str]) -> RecordCache:
        found = self._caches.get((index, stored))
        if found is None:
            with self._lock:
                while len(self._caches) >= MOST_CACHES:
                    del self._caches[next(iter(self._caches))]
                found = self._caches.setdefault((index, stored), RecordCache(MOST[kind]))
        return found

    def read_formulas(self, generation: Generation, numbers: Sequence[int], threads: Mapping[int, int]) -> None:
        """Read records of formulas with those of threads that have them, if many are missing."""
        cache = self._cache(generation.index_name("formulas"), "formulas", RECORD)
        versions = generation.versions["formulas"]
        found = cache.get_all(versions.all(numbers))
        missing = {number for number, one in zip(numbers, found, strict=True) if one is None}
        if len(missing) < MANY_MISSING:
            return
        keys = dict.fromkeys(threads[number] for number in missing if number in threads)
        ids = [number for number in map(generation.versions["threads"].id, keys) if number]
        for answer in generation.place.cluster.mget(generation.index_name("threads"), ids, ("formulas",)):
            for number, record in unpack_group(answer["fields"]["formulas"][0]).items() if answer.get("found") else ():
                # Of one that commits wrote, a thread may have an older record.
                if number in missing and not versions.is_changed(number):
                    cache.put(number, {"record": [record]})

    def read(
        self, generation: Generation, kind: Kind, keys: Sequence[Any], stored: tuple[str, ...]
    ) -> dict[Any, Fields]:
        """Return the stored fields of documents by their keys, in the order of keys; missing ones are left out."""
        index, versions = generation.index_name(kind), generation.versions[kind]
        cache, wanted = self._cache(index, kind, stored), versions.all(keys)
        found = cache.get_all(wanted)
        if None in found:
            missing = [at for at, one in enumerate(found) if one is None and wanted[at] is not None]
            ids = [versions.id(keys[at]) for at in missing]
            for at, answer in zip(missing, generation.place.cluster.mget(index, ids, stored), strict=True):
                if answer.get("found"):
                    found[at] = fields = answer.get("fields", {})
                    cache.put(wanted[at], fields)
        return {key: fields for key, fields in zip(keys, found, strict=True) if fields is not None}
