"""A collection that is added to: its rows stay as they are, its formulas are known, and ids go on above its own."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from porism.corpus.build.expressions import TABLES as EXPRESSION_TABLES
from porism.corpus.build.expressions import expression_key
from porism.corpus.build.visual import TABLES as VISUAL_TABLES
from porism.corpus.store.schema import DATABASE
from porism.hashing import hash64

TABLES = """
CREATE TABLE IF NOT EXISTS base_posts(id INTEGER PRIMARY KEY, thread_id INTEGER, kind TEXT);
CREATE TABLE IF NOT EXISTS base_comments(id INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS base_tops(what TEXT PRIMARY KEY, top INTEGER) WITHOUT ROWID;
"""
TOPS = {
    "ids": "SELECT max((SELECT coalesce(max(id), 0) FROM posts), (SELECT coalesce(max(id), 0) FROM comments),"
    " (SELECT coalesce(max(id), 0) FROM users))",
    "expressions": "SELECT coalesce(max(id), 0) FROM expressions",
    "formulas": "SELECT coalesce(max(id), 0) FROM formulas",
    "visuals": "SELECT coalesce(max(visual_id), 0) FROM formulas",
}


def copy_store(base: Path, folder: Path) -> None:
    """The store to be added to is a copy; readers of the old one are not disturbed."""
    if not (folder / DATABASE).exists():
        shutil.copyfile(base / DATABASE, folder / f"{DATABASE}.copy")
        os.replace(folder / f"{DATABASE}.copy", folder / DATABASE)


def make_tables(work: sqlite3.Connection) -> None:
    """Empty tables, as for a collection that starts from nothing."""
    for tables in (TABLES, EXPRESSION_TABLES, VISUAL_TABLES):
        work.executescript(tables)


def seed(work: sqlite3.Connection, store: sqlite3.Connection) -> None:
    """Tell the work database what the store already holds; the caller commits."""
    for what, query in TOPS.items():
        work.execute("INSERT INTO base_tops VALUES(?, ?)", (what, store.execute(query).fetchone()[0]))
    work.executemany("INSERT INTO base_posts VALUES(?, ?, ?)", store.execute("SELECT id, thread_id, kind FROM posts"))
    work.executemany("INSERT INTO base_comments VALUES(?)", store.execute("SELECT id FROM comments"))
    work.executemany(
        "INSERT OR IGNORE INTO visual_keys VALUES(?, ?)",
        store.execute("SELECT key, visual_id FROM expressions ORDER BY id"),
    )
    work.executemany("INSERT OR IGNORE INTO latex_keys VALUES(?, ?)", _hashes(store))


def _hashes(store: sqlite3.Connection) -> Iterator[tuple[int, int]]:
    for number, latex, mathml in store.execute("SELECT id, latex, mathml FROM expressions ORDER BY id"):
        yield hash64(expression_key(latex, mathml)), number


def top(work: sqlite3.Connection, what: str) -> int:
    """The highest id of the collection that is added to; 0 where there is none."""
    row = work.execute("SELECT top FROM base_tops WHERE what = ?", (what,)).fetchone()
    return 0 if row is None else int(row[0])
