"""An excerpt of a collection: all rows of some threads, visual ids or expressions, as a value that a worker without the
files gets."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from porism.corpus.content import batched
from porism.corpus.store.collection import Collection
from porism.corpus.store.parts import CHUNK, REBUILD, PartDatabase, Parts
from porism.corpus.store.schema import INDEXES, TABLES
from porism.text.segment import expression_ids

Rows = dict[str, list[tuple[Any, ...]]]  # by table
Read = Callable[[str, Sequence[object]], Iterator[Any]]
PLACE = Path("excerpt")


def thread_rows(collection: Collection, questions: Sequence[int], links: bool) -> Rows:
    """Return the rows of threads, without expressions. With `links`, they have the titles of linked questions."""
    parts = collection.parts
    found: Rows = {"posts": _of(parts.rows, "posts", "thread_id", questions)}
    posts = [row[0] for row in found["posts"]]
    found["comments"] = _of(parts.rows, "comments", "post_id", posts)
    found["formulas"] = _of(parts.rows, "formulas", "post_id", posts)
    found["links"] = _of(parts.rows, "links", "post_id", questions)
    linked = dict.fromkeys(row[1] for row in found["links"]) if links else ()
    titles = collection.titles_by_id(list(linked))
    found["titles"] = [(number, title.stored) for number, title in titles.items()]
    return found


def expressions_of(rows: Rows) -> set[int]:
    """Return the expressions in the texts of an excerpt."""
    columns = {"posts": (-2, -1), "comments": (-1,), "titles": (-1,)}
    texts = (row[column] for table, own in columns.items() for row in rows[table] for column in own)
    return {number for text in texts for number in expression_ids(text)}


def expression_rows(collection: Collection, ids: Sequence[int]) -> Rows:
    """Return the rows of expressions."""
    return {"expressions": _of(collection.parts.newest_rows, "expressions", "id", ids)}


def visual_rows(collection: Collection, ids: Sequence[int]) -> Rows:
    """Return the rows of visual ids, and of the expressions that represent them."""
    visuals = _of(collection.parts.newest_rows, "visuals", "id", ids)
    return {"visuals": visuals, **expression_rows(collection, [row[1] for row in visuals])}


def open_excerpt(rows: Rows) -> Collection:
    """Return a collection that has these rows only, in memory."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(TABLES)
    for table, found in rows.items():
        if found:
            connection.executemany(f"INSERT INTO {table} VALUES({', '.join('?' * len(found[0]))})", found)
    connection.executescript(INDEXES)
    connection.commit()
    return Collection(PLACE, {}, {}, Parts([PartDatabase(connection, PLACE, REBUILD)]))


def _of(read: Read, table: str, column: str, ids: Iterable[int]) -> list[tuple[Any, ...]]:
    """Return the rows of a table with these values in a column."""
    found: list[tuple[Any, ...]] = []
    for chunk in batched(dict.fromkeys(ids), CHUNK):
        marks = ", ".join("?" * len(chunk))
        found += read(f"SELECT * FROM {table} WHERE {column} IN ({marks}) ORDER BY 1", chunk)
    return found
