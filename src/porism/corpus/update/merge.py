"""Merge parts of a collection into one: rows are copied, ids stay. A merge of all parts is a collection in one file
again."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from porism.corpus.build.finish import add_indexes, digest
from porism.corpus.content import Visual
from porism.corpus.store.collection import Collection
from porism.corpus.store.parts import REBUILD, Parts
from porism.corpus.store.schema import DATABASE, POST_OF_ROW, REMOVED_TABLE, TABLES
from porism.corpus.update.delta import write_collection_manifest

# Tables of which the row of the newest part counts, by their ids.
NEWEST = ("expressions", "users", "titles")


def merge_parts(collection: Collection, first: int, folder: Path) -> list[int]:
    """Write the parts from number `first` on as one part into a new folder; return the ids of its questions.

    With all parts the result is a collection by itself."""
    folder.mkdir(parents=True)
    store = sqlite3.connect(folder / DATABASE, isolation_level=None)
    store.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;")
    store.executescript(TABLES + REMOVED_TABLE)
    with contextlib.closing(Parts.open(collection.part_folders[first:], REBUILD)) as parts:
        for table in POST_OF_ROW:
            _insert(store, table, parts.rows(f"SELECT * FROM {table} ORDER BY 1", ()))
        for table in NEWEST:
            _insert(store, table, parts.newest_rows(f"SELECT * FROM {table} ORDER BY id"))
        _insert(store, "images", parts.newest_rows("SELECT * FROM images ORDER BY name"))
        visuals = map(Visual._make, parts.newest_rows("SELECT * FROM visuals ORDER BY id"))
        _insert(store, "visuals", (one for one in visuals if one.formulas or first))
        _insert(store, "tags", _tags(parts, bool(first)))
        if first:
            removed = parts.newest_rows("SELECT id FROM removed ORDER BY id")
            _insert(store, "removed", removed)
        else:
            store.execute("DROP TABLE removed")
    add_indexes(store)
    questions = [row[0] for row in store.execute("SELECT id FROM posts WHERE kind = 'question' ORDER BY id")]
    if not first:
        content = digest(store)
    store.close()
    if not first:
        write_collection_manifest(collection, [folder], folder, {"digest": content})
    return questions


def write_generation(present: Collection, parts: Sequence[Path], folder: Path, merged_digest: str = "") -> None:
    """Write the manifest of a collection of these parts into the folder of one of them. The rows are those of the
    present collection.

    `merged_digest` is the digest of all rows, if all parts were merged; parts that came later are added to it."""
    content = present.digest
    if merged_digest:
        content = (
            merged_digest if len(parts) == 1 else hashlib.sha256(f"{merged_digest} {content}".encode()).hexdigest()
        )
    write_collection_manifest(present, parts, folder, {"digest": content})


def _tags(parts: Parts, signed: bool) -> Iterator[tuple[str, int]]:
    """Yield the numbers of questions by tag; `signed` ones are changes, of which only zeros are left out."""
    counts: Counter[str] = Counter()
    for name, number in parts.rows("SELECT name, posts FROM tags ORDER BY name", ()):
        counts[name] += number
    return ((name, number) for name, number in sorted(counts.items()) if (number if signed else number > 0))


def _insert(store: sqlite3.Connection, table: str, rows: Iterator[Any]) -> None:
    first = next(rows, None)
    if first is not None:
        statement = f"INSERT INTO {table} VALUES({', '.join('?' * len(first))})"
        store.execute(statement, tuple(first))
        store.executemany(statement, rows)
