"""How content is read from a cluster: documents by their keys, blocks of tables, and streams of everything that passes
a filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import cbor2

from porism.corpus.content import batched
from porism.corpus.post import Post
from porism.corpus.store.schema import to_post
from porism.errors import PorismError
from porism.store.opensearch.blocks import Row, Table, read_block
from porism.store.opensearch.cache import Documents
from porism.store.opensearch.generation import Generation
from porism.store.opensearch.posts import PostRows
from porism.store.opensearch.schema import COMMON, Kind

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
        return {number: cbor2.loads(fields["formulas"][0]) for number, fields in sorted(found.items())}

    def table_rows(self, table: Table, ids: Iterable[int]) -> dict[int, Row]:
        """Return rows of a table by their ids, in the order of ids; unknown ids are left out."""
        wanted = set(ids)
        keys = [f"{table.name}/{number}" for number in sorted({one // table.size for one in wanted})]
        found = self._documents.read(self._generation, "rows", keys, ("data",))
        rows = (row for fields in found.values() for row in read_block(fields["data"][0]))
        return {row[0]: row for row in rows if row[0] in wanted}

    def block_rows(self, table: Table, number: int) -> list[Row]:
        """Return all rows of a block."""
        key = f"{table.name}/{number}"
        found = self._documents.read(self._generation, "rows", [key], ("data",))
        return read_block(found[key]["data"][0]) if found else []

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
                yield hit.get("fields", {}), hit["sort"][0]
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
        return read_block(found[COMMON]["data"][0])

    def first_uses(self, visual: int, most: int) -> Iterator[Mapping[str, Any]]:
        """Yield the formulas of the first posts with a visual id, some more than `most` of them."""
        found = self.scan("posts", [{"term": {"visual": visual}}], "first", ("formulas",), most + FIRST_USES)
        return (fields for _, (fields, _) in zip(range(most + FIRST_USES), found, strict=False))


def block_of(fields: Mapping[str, Any]) -> list[Row]:
    """Return the rows of the document of a block."""
    return read_block(fields["data"][0])


def rows_of_post(fields: Mapping[str, Any]) -> PostRows:
    """Return the rows of the document of a post."""
    return PostRows.unpack(fields["data"][0], fields["formulas"][0] if "formulas" in fields else b"")


def read_post(fields: Mapping[str, Any]) -> ReadPost:
    """Return the post of a document."""
    rows = rows_of_post(fields)
    return ReadPost(to_post(tuple(rows.post)), rows, fields["parts"][0] if "parts" in fields else b"")
