"""Checksums of the rows of a journal, so that a changed byte in a stored judgment is noticed.

Triggers note the keys of new and changed rows in the table `unchecked`. At the end of each transaction the journal
writes the checksums of these rows into `row_check`. A row that someone changes at an SQL prompt is noted as well, and
gets its checksum with the next transaction.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from xxhash import xxh3_128_hexdigest

# The tables whose rows are checked, with their keys. Sessions and login attempts end by themselves and are left out.
CHECKED = {
    "meta": ("name",),
    "topic": ("task", "id"),
    "item": ("key",),
    "instance": ("item", "number"),
    "account": ("name",),
    "assignment": ("id",),
    "assigned": ("assignment", "position"),
    "event": ("id",),
}

TABLES = (
    "CREATE TABLE unchecked (name TEXT NOT NULL, key TEXT NOT NULL);",
    "CREATE TABLE row_check (name TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (name, key)) "
    "WITHOUT ROWID;",
)
# What the triggers note: the keys of the old and the new row.
ACTIONS = {"INSERT": ("NEW",), "UPDATE": ("OLD", "NEW"), "DELETE": ("OLD",)}


class RowKey(NamedTuple):
    """A row of a journal: its table, and the values of its key as a JSON array."""

    name: str
    key: str


def check_statements() -> list[str]:
    """Return the SQL statements that make the tables and triggers of the checksums."""
    statements = list(TABLES)
    for name, columns in CHECKED.items():
        for action, sides in ACTIONS.items():
            keys = [", ".join(f"{side}.{column}" for column in columns) for side in sides]
            body = " ".join(f"INSERT INTO unchecked VALUES ('{name}', json_array({key}));" for key in keys)
            statements.append(f"CREATE TRIGGER check_{name}_{action} AFTER {action} ON {name} BEGIN {body} END;")
    return statements


def note_all_rows(connection: sqlite3.Connection) -> None:
    """Note all rows as unchecked, for a journal that has no checksums yet."""
    for name, columns in CHECKED.items():
        connection.execute(f"INSERT INTO unchecked SELECT '{name}', json_array({', '.join(columns)}) FROM {name}")


def write_checks(connection: sqlite3.Connection) -> None:
    """Write the checksums of all rows that were added or changed, and remove those of deleted rows."""
    changed = [RowKey(*row) for row in connection.execute("SELECT DISTINCT name, key FROM unchecked")]
    for row in changed:
        where = " AND ".join(f"{column} = ?" for column in CHECKED[row.name])
        found = connection.execute(f"SELECT * FROM {row.name} WHERE {where}", json.loads(row.key)).fetchone()
        if found is None:
            connection.execute("DELETE FROM row_check WHERE name = ? AND key = ?", row)
        else:
            connection.execute("INSERT OR REPLACE INTO row_check VALUES (?, ?, ?)", (*row, row_digest(found)))
    if changed:
        connection.execute("DELETE FROM unchecked")


def row_digest(row: Any) -> str:
    """Return the checksum of the values of a row."""
    return xxh3_128_hexdigest(repr(tuple(row)).encode("utf-8", "surrogatepass"))


def damaged_rows(connection: sqlite3.Connection) -> Iterator[tuple[RowKey, str]]:
    """Yield the rows that differ from what was written, are missing, or have no checksum, each with this fact."""
    noted = {RowKey(*row) for row in connection.execute("SELECT name, key FROM unchecked")}
    for name, columns in CHECKED.items():
        key = f"json_array({', '.join(columns)})"
        stored = dict(connection.execute("SELECT key, digest FROM row_check WHERE name = ?", (name,)))
        for found in connection.execute(f"SELECT {key}, * FROM {name}"):
            row = RowKey(name, found[0])
            expected = stored.pop(row.key, None)
            if row not in noted and expected != row_digest(found[1:]):
                yield row, "has no checksum" if expected is None else "is damaged: its checksum is wrong"
        for lost in stored:
            if RowKey(name, lost) not in noted:
                yield RowKey(name, lost), "is missing"
    known = ", ".join("?" * len(CHECKED))
    for row in connection.execute(f"SELECT name, key FROM row_check WHERE name NOT IN ({known})", tuple(CHECKED)):
        yield RowKey(*row), "is a checksum of no table"
