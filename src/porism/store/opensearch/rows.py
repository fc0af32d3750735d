"""Content as documents: posts with the rows that belong to them, and tables in blocks.

Rows of a table with neighbouring ids are one document, so that a cluster keeps few of them and a batch of ids reads few
blocks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any, NamedTuple

import cbor2
import numpy as np

from porism.corpus.content import batched
from porism.corpus.store.collection import COMMENT, POST, Collection
from porism.corpus.store.parts import CHUNK
from porism.store.opensearch.documents import binary, line
from porism.text.segment import Text
from porism.text.words import WORD, stems_of

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


OUTSIDE = 9  # the column of formulas that says that no post has the formula: it is in the title of a linked question


def _without_posts(rows: Sequence[Row]) -> Mapping[str, Any]:
    """Return the visual ids of formulas that no post has; those of posts are found in posts."""
    return {"key": sorted({row[6] for row in rows if row[OUTSIDE]})}


EXPRESSIONS = Table("expressions", 16, "SELECT * FROM expressions ORDER BY id", _keys)
VISUALS = Table("visuals", 512, "SELECT * FROM visuals ORDER BY id")
FORMULAS = Table(
    "formulas",
    64,
    """SELECT id, post_id, thread_id, kind, comment_id, expression_id, visual_id, old_visual_id, issue,
        NOT EXISTS (SELECT 1 FROM posts WHERE posts.id = formulas.post_id) FROM formulas ORDER BY id""",
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


# The rows that belong to a post, by table; of formulas with their LaTeX, so that no expressions are read for them.
QUERIES = {
    "comments": f"SELECT {COMMENT} FROM comments WHERE post_id IN ({{}}) ORDER BY id",
    "links": "SELECT post_id, other_id, kind FROM links WHERE post_id IN ({}) ORDER BY post_id, other_id, kind",
    "votes": "SELECT post_id, type, number, bounty FROM votes WHERE post_id IN ({}) ORDER BY post_id, type",
    "formulas": """SELECT f.id, f.post_id, f.thread_id, f.kind, f.comment_id, f.expression_id, f.visual_id,
        f.old_visual_id, f.issue, e.latex
        FROM formulas f JOIN expressions e ON e.id = f.expression_id WHERE f.post_id IN ({}) ORDER BY f.id""",
}
POST_OF = {"comments": 1, "links": 0, "votes": 0, "formulas": 1}  # the column with the id of the post


class PostRows(NamedTuple):
    """A post with the rows that belong to it."""

    post: Row
    comments: Sequence[Row] = ()
    links: Sequence[Row] = ()
    votes: Sequence[Row] = ()
    formulas: Sequence[Row] = ()

    def pack(self) -> tuple[bytes, bytes]:
        """Return the rows as bytes, those of formulas apart, since pages of formulas read nothing else."""
        own = [list(self.post), *([list(row) for row in rows] for rows in self[1:4])]
        return cbor2.dumps(own), cbor2.dumps([list(row) for row in self.formulas])

    @classmethod
    def unpack(cls, data: bytes, formulas: bytes = b"") -> PostRows:
        """Return the rows of bytes."""
        post, comments, links, votes = cbor2.loads(data)
        return cls(post, comments, links, votes, cbor2.loads(formulas) if formulas else ())


def read_posts(collection: Collection, ids: Sequence[int]) -> dict[int, PostRows]:
    """Return posts with what belongs to them."""
    found: dict[str, defaultdict[int, list[Row]]] = {}
    for table, query in QUERIES.items():
        found[table] = defaultdict(list)
        for row in _rows(collection, query, ids):
            found[table][row[POST_OF[table]]].append(row)
    posts = _rows(collection, f"SELECT {POST} FROM posts WHERE id IN ({{}}) ORDER BY id", ids)
    return {row[0]: PostRows(row, *(found[table][row[0]] for table in QUERIES)) for row in posts}


def _rows(collection: Collection, query: str, ids: Sequence[int]) -> Iterator[Row]:
    for some in batched(ids, CHUNK):
        yield from collection.parts.rows(query.format(", ".join("?" * len(some))), some)


class PlacedPost(NamedTuple):
    """A post, the title of its thread, and its position there."""

    rows: PostRows
    title: str
    position: int


def place_posts(posts: Sequence[Any], sizes: Sequence[int]) -> Iterator[PlacedPost]:
    """Yield posts with the title of their thread and their position; `sizes` are the numbers of posts of threads, the
    question first."""
    left = iter(posts)
    for size in sizes:
        title = ""
        for position, rows in enumerate(islice(left, size)):
            title = rows.post[12] if not position else title
            yield PlacedPost(rows, title, position)


Parts = Callable[[Sequence[int]], Sequence[Sequence[int]]]  # the codes of the sub-expressions of expressions


def lines_of_posts(posts: Iterable[PlacedPost], parts: Parts, generation: int) -> Iterator[bytes]:
    """Yield posts as actions of a bulk request."""
    for own, title, position in posts:
        number, kind, thread, owner, body = own.post[0], own.post[1], own.post[2], own.post[7], own.post[13]
        words = WORD.findall(f"{Text(title).plain()} {Text(body).plain()}".lower())
        data, rows = own.pack()
        fields: dict[str, Any] = {
            "id": number,
            "thread": thread,
            "position": position,
            "kind": kind,
            "phrase": " ".join(words),
            "stems": " ".join(set(stems_of(words))),
            "title": title,
            "data": binary(data),
            "formulas": binary(rows),
            "parts": binary(_pack_parts([row[5] for row in own.formulas], parts)),
        }
        if owner is not None:
            fields["owner"] = owner
        if own.formulas:
            fields |= {"visual": sorted({row[6] for row in own.formulas}), "first": own.formulas[0][0]}
        if own.comments:
            fields["comment"] = [row[0] for row in own.comments]
        if own.links:
            fields["other"] = [row[1] for row in own.links]
        yield line(number, generation, fields)


def _pack_parts(expressions: Sequence[int], parts: Parts) -> bytes:
    """Return the sub-expressions of expressions, by their codes, as bytes."""
    distinct = list(dict.fromkeys(expressions))
    own = zip(distinct, parts(distinct), strict=True)
    return cbor2.dumps({number: np.array(codes, np.uint32).tobytes() for number, codes in own})


def unpack_parts(data: bytes) -> Mapping[int, bytes]:
    """Return the packed codes of the sub-expressions by expression."""
    found: Mapping[int, bytes] = cbor2.loads(data)
    return found
