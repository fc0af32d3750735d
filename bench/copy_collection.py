"""A collection some times over, under new ids: python -m bench.copy_collection COLLECTION TARGET COPIES.

Building a million posts takes an hour or more; copying a hundred thousand ten times takes minutes. All that grows with posts is the same;
distinct formulas stay as many as they were.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import sys
from pathlib import Path

from porism.corpus.schema import DATABASE, INDEXES, MANIFEST, TABLES
from porism.files import atomic_directory

# What of each table is copied each time: columns that are shifted, by the largest id of which table.
SHIFTED = {
    "posts": {"id": "posts", "thread_id": "posts", "parent_id": "posts", "accepted_id": "posts"},
    "comments": {"id": "comments", "post_id": "posts"},
    "formulas": {"id": "formulas", "post_id": "posts", "thread_id": "posts", "comment_id": "comments"},
    "links": {"post_id": "posts", "other_id": "posts"},
    "votes": {"post_id": "posts"},
}
TEXTS = {"posts": ("title", "body"), "comments": ("body",)}
ONCE = ("titles", "users", "expressions")
SPAN = re.compile(r'(?<=<span class="math-container" id=")[0-9]+')


def shifted_spans(text: str, shift: int) -> str:
    """A text whose formulas have the ids of a copy."""
    return SPAN.sub(lambda match: str(int(match[0]) + shift), text) if shift else text


def copy_tables(source: Path, database: sqlite3.Connection, copies: int) -> None:
    """Fill the tables of a new store."""
    database.executescript(TABLES)
    database.create_function("shifted", 2, shifted_spans, deterministic=True)
    database.execute("ATTACH ? AS old", (str(source / DATABASE),))
    top = {
        table: database.execute(f"SELECT max(id) FROM old.{table}").fetchone()[0] or 0
        for table in TEXTS | {"formulas": ()}
    }
    for table in ONCE:
        database.execute(f"INSERT INTO {table} SELECT * FROM old.{table}")
    for copy in range(copies):
        for table, shifts in SHIFTED.items():
            columns = [row[1] for row in database.execute(f"PRAGMA old.table_info({table})")]
            made = [
                f"{name} + {copy * top[shifts[name]]}"
                if name in shifts
                else f"shifted({name}, {copy * top['formulas']})"
                if name in TEXTS.get(table, ())
                else name
                for name in columns
            ]
            database.execute(f"INSERT INTO {table} SELECT {', '.join(made)} FROM old.{table}")
    database.execute(f"INSERT INTO tags SELECT name, posts * {copies} FROM old.tags")
    database.execute(
        f"INSERT INTO visuals SELECT id, expression_id, formulas * {copies}, posts * {copies} FROM old.visuals"
    )
    database.commit()
    database.executescript(INDEXES)


def copy_collection(source: Path, target: Path, copies: int) -> None:
    """Write a collection that holds another one so many times."""
    manifest = json.loads((source / MANIFEST).read_text("utf-8"))
    with atomic_directory(target) as work:
        database = sqlite3.connect(work / DATABASE)
        database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000")
        copy_tables(source, database, copies)
        database.close()
        for table in SHIFTED:
            manifest["counts"][table] *= copies
        manifest["digest"] = hashlib.sha256(f"{manifest['digest']} {copies}".encode()).hexdigest()
        (work / MANIFEST).write_text(json.dumps(manifest, indent=1), "utf-8")


if __name__ == "__main__":
    copy_collection(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
