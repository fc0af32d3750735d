"""Tables in blocks: rows with neighbouring ids are one document, so that a cluster keeps few of them and a batch of ids
reads few blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import cbor2

from porism.store.opensearch.rendering import binary, line

Row = Sequence[Any]


class Table(NamedTuple):
    """A table: its name, the number of ids of a block, its query, and what else of a block is searched."""

    name: str
    size: int
    query: str
    extra: Callable[[Sequence[Row]], Mapping[str, Any]] = lambda rows: {}


def _keys(rows: Sequence[Row]) -> Mapping[str, Any]:
    return {"key": sorted({row[7] for row in rows})}


def _names(rows: Sequence[Row]) -> Mapping[str, Any]:
    return {"name": sorted({str(row[1]).casefold() for row in rows if row[1]})}


def _without_posts(rows: Sequence[Row]) -> Mapping[str, Any]:
    """Return the visual ids of formulas that no post has; those of posts are found in posts."""
    return {"key": sorted({row[6] for row in rows if not row[1]})}


EXPRESSIONS = Table("expressions", 16, "SELECT * FROM expressions ORDER BY id", _keys)
VISUALS = Table("visuals", 512, "SELECT * FROM visuals ORDER BY id")
FORMULAS = Table(
    "formulas",
    64,
    "SELECT id, post_id, thread_id, kind, comment_id, expression_id, visual_id, old_visual_id, issue FROM formulas ORDER BY id",
    _without_posts,
)
USERS = Table("users", 64, "SELECT * FROM users ORDER BY id", _names)
TITLES = Table("titles", 64, "SELECT id, title FROM titles ORDER BY id")
TABLES = {table.name: table for table in (EXPRESSIONS, VISUALS, FORMULAS, USERS, TITLES)}
NEWEST = frozenset({"expressions", "visuals", "users", "titles"})  # of which the newest row of an id counts


class Block(NamedTuple):
    """The rows of a table in one document."""

    table: Table
    number: int
    rows: Sequence[Row]

    @property
    def key(self) -> str:
        """The key of the document."""
        return f"{self.table.name}/{self.number}"

    def line(self, generation: int) -> bytes:
        """Return the document as an action of a bulk request."""
        fields = {"table": self.table.name, "block": self.number, **self.table.extra(self.rows)}
        return line(self.key, generation, {**fields, "data": binary(cbor2.dumps(self.rows))})


def blocks_of(table: Table, rows: Iterable[Row]) -> Iterator[Block]:
    """Yield the blocks of rows in the order of ids."""
    for number, own in groupby(rows, key=lambda row: int(row[0]) // table.size):
        yield Block(table, number, [list(row) for row in own])


def read_block(data: bytes) -> list[Any]:
    """Return the rows of a block."""
    rows: list[Any] = cbor2.loads(data)
    return rows
