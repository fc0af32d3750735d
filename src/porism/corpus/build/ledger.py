"""The ledger of a build: rows read, kept and dropped, with examples, saved with every batch. Nothing is lost silently."""

from __future__ import annotations

import sqlite3
from collections import Counter
from typing import NamedTuple

EXAMPLES = 5

TABLE = """
CREATE TABLE IF NOT EXISTS ledger(
    what TEXT, why TEXT, number INTEGER, examples TEXT, PRIMARY KEY(what, why)) WITHOUT ROWID;
"""
READ, KEPT = "read", "kept"


class Entry(NamedTuple):
    """How many rows of a kind were read, kept or dropped for a reason, and some examples."""

    what: str
    why: str
    number: int
    examples: list[str]


class Ledger:
    """Counts rows by kind and reason, in a table of the database that the counted rows go to."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        database.executescript(TABLE)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], list[str]] = {}
        for what, why, number, examples in database.execute("SELECT * FROM ledger"):
            self._counts[what, why] = number
            self._examples[what, why] = examples.split("\n") if examples else []

    def read(self, what: str, number: int = 1) -> None:
        """Count rows that were read."""
        self._counts[what, READ] += number

    def keep(self, what: str, number: int = 1) -> None:
        """Count rows that are in the collection."""
        self._counts[what, KEPT] += number

    def drop(self, what: str, why: str, example: str = "", number: int = 1) -> None:
        """Count rows that are not in the collection, or that need a remark; the first few are kept as examples."""
        self._counts[what, why] += number
        examples = self._examples.setdefault((what, why), [])
        if example and len(examples) < EXAMPLES:
            examples.append(example.replace("\n", " "))

    def save(self) -> None:
        """Write the counts; the caller commits them together with the rows."""
        rows = [(*key, number, "\n".join(self._examples.get(key, ()))) for key, number in self._counts.items()]
        self._database.executemany("INSERT OR REPLACE INTO ledger VALUES(?, ?, ?, ?)", rows)

    def entries(self) -> list[Entry]:
        """Return all counts."""
        return [Entry(*key, number, self._examples.get(key, [])) for key, number in sorted(self._counts.items())]
