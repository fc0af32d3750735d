"""Adding to a collection: its rows stay as they are, its expressions are known, and new ids continue above its own."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from porism.corpus.build.expressions import expression_key
from porism.corpus.store.schema import DATABASE
from porism.hashing import hash64

TOPS = {
    "ids": "SELECT max((SELECT coalesce(max(id), 0) FROM posts), (SELECT coalesce(max(id), 0) FROM comments),"
    " (SELECT coalesce(max(id), 0) FROM users))",
    "expressions": "SELECT coalesce(max(id), 0) FROM expressions",
    "formulas": "SELECT coalesce(max(id), 0) FROM formulas",
    "visuals": "SELECT coalesce(max(visual_id), 0) FROM formulas",
}


def copy_store(base: Path, folder: Path) -> None:
    """Copy the store that is added to; readers of the old one are not disturbed."""
    if not (folder / DATABASE).exists():
        shutil.copyfile(base / DATABASE, folder / f"{DATABASE}.copy")
        os.replace(folder / f"{DATABASE}.copy", folder / DATABASE)


def seed(work: sqlite3.Connection, store: sqlite3.Connection) -> None:
    """Note in the work database what the store already holds; the caller commits."""
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
