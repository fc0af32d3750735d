"""How documents are read from a cluster: by their keys, through a bounded cache, blocks of tables, and streams of all
that pass a filter.

The version of a document never changes, so that what was read lately stays right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

import cbor2

from porism.corpus.content import batched
from porism.corpus.post import Post
from porism.corpus.store.schema import to_post
from porism.errors import PorismError
from porism.store.opensearch.generation import Generation
from porism.store.opensearch.packing import unpack_group
from porism.store.opensearch.rows import PostRows, Row, Table, read_block
from porism.store.opensearch.schema import COMMON, Kind, group_key

MOST_RECORDS = 20_000
MOST: Mapping[Kind, int] = {"threads": MOST_RECORDS, "formulas": 4 * MOST_RECORDS, "posts": 2_000, "rows": 2_000}
MOST_CACHES = 16  # one for each index and choice of fields; older builds go first
MANY_MISSING = 300  # formulas, from which on those of whole threads are read
Fields = Mapping[str, Any]
Elsewhere = Callable[[Sequence[Any]], Mapping[Any, Any]]


class RecordCache:
    """The documents that were read lately, about `most` of them: a new and an old half. What is read again moves to the
    new half; when that is full, it becomes the old one."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._new: dict[Any, Any] = {}
        self._old: dict[Any, Any] = {}
        self._lock = Lock()

    def get_all(self, versions: Sequence[Any]) -> list[Any]:
        """Return documents, None for each that is not here."""
        with self._lock:
            found = list(map(self._new.get, versions))
            again = {}
            for at, version in enumerate(versions):
                if found[at] is None and (one := self._old.get(version)) is not None:
                    found[at] = again[version] = one
            self._keep(again)
        return found

    def put_all(self, documents: Mapping[Any, Any]) -> None:
        """Keep documents by their versions."""
        with self._lock:
            self._keep(documents)

    def _keep(self, documents: Mapping[Any, Any]) -> None:
        self._new.update(documents)
        if len(self._new) > self._half:
            self._old, self._new = self._new, {}


def stored_fields(answer: Mapping[str, Any]) -> Fields:
    """Return the stored fields of a document, each of which has one value. A dictionary of bytes and numbers costs no
    search for reference cycles, which a list for each value would."""
    return {name: values[0] for name, values in answer.get("fields", {}).items()}


class Documents:
    """Reads documents of generations by their keys."""

    def __init__(self) -> None:
        self._caches: dict[tuple[str, Sequence[str]], RecordCache] = {}
        self._lock = Lock()

    def forget(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._caches = {}

    def _cache(self, index: str, kind: Kind, stored: Sequence[str]) -> RecordCache:
        found = self._caches.get((index, stored))
        if found is None:
            with self._lock:
                while len(self._caches) >= MOST_CACHES:
                    del self._caches[next(iter(self._caches))]
                found = self._caches.setdefault((index, stored), RecordCache(MOST[kind]))
        return found

    def read(self, generation: Generation, kind: Kind, keys: Sequence[Any], stored: tuple[str, ...]) -> dict[Any, Any]:
        """Return stored fields of documents by their keys, or the only one of them; missing ones are left out."""
        found = self.values(generation, kind, keys, stored)
        return {key: one for key, one in zip(keys, found, strict=True) if one is not None}

    def values(
        self,
        generation: Generation,
        kind: Kind,
        keys: Sequence[Any],
        stored: tuple[str, ...],
        elsewhere: Elsewhere = lambda keys: {},
    ) -> list[Any]:
        """Return stored fields of documents, or the only one of them; None for missing ones. `elsewhere` may find some
        of those that are not in the cache."""
        index, versions = generation.index_name(kind), generation.versions[kind]
        cache, wanted = self._cache(index, kind, stored), versions.all(keys)
        found = cache.get_all(wanted)
        missing = [at for at, one in enumerate(found) if one is None and wanted[at] is not None]
        if missing:
            kept = {}
            if other := elsewhere([keys[at] for at in missing]):
                for at in missing:
                    if (value := other.get(keys[at])) is not None:
                        found[at] = kept[wanted[at]] = value
                missing = [at for at in missing if found[at] is None]
            ids = [versions.id(keys[at]) for at in missing]
            for at, answer in zip(missing, generation.place.cluster.mget(index, ids, stored, parts=()), strict=True):
                if answer.get("found"):
                    fields = stored_fields(answer)
                    found[at] = kept[wanted[at]] = fields if len(stored) > 1 else fields[stored[0]]
            cache.put_all(kept)
        return found


def formulas_of_threads(generation: Generation, numbers: Sequence[int], threads: Mapping[int, int]) -> dict[int, bytes]:
    """Return records of formulas as they are stored with the threads that have them, if many are asked for: fewer
    documents, and more bytes."""
    if len(numbers) < MANY_MISSING:
        return {}
    # Of one that commits wrote, a thread may have an older record.
    changed = generation.versions["formulas"].changed_keys
    wanted = {one for one in numbers if one in threads and one not in changed}
    found = map(generation.versions["threads"].id, {threads[one] for one in wanted})
    ids = [group_key(number) for number in found if number]
    records: dict[int, bytes] = {}
    for answer in generation.place.cluster.mget(generation.index_name("threads"), ids, ("formulas",), parts=()):
        if answer.get("found"):
            records.update(unpack_group(answer["fields"]["formulas"][0], wanted))
    return records


PAGE = 500  # documents of a stream that are read together
BLOCKS = 50
IDS = 1000  # ids of a query
FIRST_USES = 20  # posts that are read to find the first ones that use a formula
MOST_ID = 1 << 63


class ReadPost(NamedTuple):
    """A post, its rows, and the packed sub-expressions of its formulas."""

    post: Post
    rows: PostRows
    parts: bytes = b""


class ContentReader:
    """Reads documents of one generation of a collection."""

    def __init__(self, address: str, generation: Generation, documents: Documents) -> None:
        self._address = address
        self._generation = generation
        self._documents = documents
        self._manifest = generation.manifest

    def check_found(self, found: Mapping[int, object], ids: Iterable[int], what: str) -> None:
        """Refuse ids that were not found."""
        missing = next((number for number in ids if number not in found), None)
        if missing is not None:
            fix = "porism collection stats shows what it holds"
            raise PorismError(f"no {what} {missing} in this collection", where=self._address, fix=fix)

    def read_posts(self, ids: Sequence[int], parts: bool = False) -> dict[int, ReadPost]:
        """Return posts with their rows; unknown ids are left out."""
        stored = ("data", "formulas", "parts") if parts else ("data", "formulas")
        found = self._documents.read(self._generation, "posts", list(dict.fromkeys(ids)), stored)
        return {number: read_post(fields) for number, fields in sorted(found.items())}

    def _formula_rows(self, ids: Sequence[int]) -> dict[int, list[Row]]:
        """Return the rows of the formulas of posts."""
        found = self._documents.read(self._generation, "posts", list(dict.fromkeys(ids)), ("formulas",))
        return {number: cbor2.loads(rows) for number, rows in sorted(found.items())}

    def table_rows(self, table: Table, ids: Iterable[int]) -> dict[int, Row]:
        """Return rows of a table by their ids, in the order of ids; unknown ids are left out."""
        wanted = set(ids)
        keys = [f"{table.name}/{number}" for number in sorted({one // table.size for one in wanted})]
        found = self._documents.read(self._generation, "rows", keys, ("data",))
        rows = (row for data in found.values() for row in read_block(data))
        return {row[0]: row for row in rows if row[0] in wanted}

    def block_rows(self, table: Table, number: int) -> list[Row]:
        """Return all rows of a block."""
        key = f"{table.name}/{number}"
        found = self._documents.read(self._generation, "rows", [key], ("data",))
        return read_block(found[key]) if found else []

    def blocks_with(self, table: Table, field: str, values: Sequence[Any]) -> list[Row]:
        """Return the rows of the blocks that have one of the values in a field."""
        query: list[Mapping[str, Any]] = [{"term": {"table": table.name}}, {"terms": {field: list(values)}}]
        return [row for fields, _ in self.scan("rows", query, "block", ("data",), BLOCKS) for row in block_of(fields)]

    def scan(
        self, kind: Kind, filters: Sequence[Mapping[str, Any]], by: str, stored: Sequence[str], size: int = PAGE
    ) -> Iterator[tuple[Mapping[str, Any], int]]:
        """Yield the stored fields of all documents that pass filters, in the order of a number, with that number."""
        generation = self._generation
        query = {"bool": {"filter": list(filters), "must_not": generation.hidden(kind)}}
        body: dict[str, Any] = {
            "size": size,
            "_source": False,
            "stored_fields": list(stored) or "_none_",
            "track_total_hits": False,
            "sort": [{by: "asc"}],
            "query": query,
        }
        while True:
            hits = generation.place.cluster.search(generation.index_name(kind), body).get("hits", {}).get("hits", ())
            for hit in hits:
                yield stored_fields(hit), hit["sort"][0]
            if len(hits) < size:
                return
            body["search_after"] = hits[-1]["sort"]

    def rows_of(self, table: Table) -> Iterator[Row]:
        """Yield all rows of a table."""
        for fields, _ in self.scan("rows", [{"term": {"table": table.name}}], "block", ("data",), BLOCKS):
            yield from block_of(fields)

    def posts_where(self, field: str, values: Iterable[int], *more: Mapping[str, Any]) -> Iterator[ReadPost]:
        """Yield the posts that have one of the numbers in a field, in the order of ids for up to IDS values."""
        for some in batched((one for one in dict.fromkeys(values) if abs(one) < MOST_ID), IDS):
            for fields, _ in self.scan("posts", [{"terms": {field: some}}, *more], "id", ("data", "formulas")):
                yield read_post(fields)

    def common_rows(self) -> list[Row]:
        """Return the rows of the most common visual ids."""
        found = self._documents.read(self._generation, "rows", [COMMON], ("data",))
        return read_block(found[COMMON])

    def first_uses(self, visual: int, most: int) -> Iterator[Mapping[str, Any]]:
        """Yield the formulas of the first posts with a visual id, some more than `most` of them."""
        found = self.scan("posts", [{"term": {"visual": visual}}], "first", ("formulas",), most + FIRST_USES)
        return (fields for _, (fields, _) in zip(range(most + FIRST_USES), found, strict=False))


def block_of(fields: Mapping[str, Any]) -> list[Row]:
    """Return the rows of the document of a block."""
    return read_block(fields["data"])


def rows_of_post(fields: Mapping[str, Any]) -> PostRows:
    """Return the rows of the document of a post."""
    return PostRows.unpack(fields["data"], fields.get("formulas", b""))


def read_post(fields: Mapping[str, Any]) -> ReadPost:
    """Return the post of a document."""
    rows = rows_of_post(fields)
    return ReadPost(to_post(tuple(rows.post)), rows, fields.get("parts", b""))
