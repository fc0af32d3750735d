"""The journal of an assessment: topics, items, people, and every click as an event that is never erased.

One SQLite file in WAL mode. A write is on the disk before the browser hears of it (synchronous = FULL), so a killed server
loses nothing that it has confirmed; a repeated request carries the same `once` and is stored once.
"""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from porism.errors import PorismError
from porism.lab.judging.schema import FORMAT, TABLES


class Entry(NamedTuple):
    """One thing said of one item: the field is grade, comment, open, submit, narrative, ..."""

    item: str
    instance: int
    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Event:
    """An entry as it was stored: by whom, when, in which assignment."""

    id: int
    at: float
    assessor: str
    assignment: int
    item: str
    instance: int
    field: str
    value: str


EVENT_COLUMNS = "id, at, assessor, assignment, item, instance, field, value"


class Journal:
    """An open journal. Every thread has its own connection; writers of this process take turns."""

    def __init__(self, path: str | Path, clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path)
        self.clock = clock
        self._local = threading.local()
        self._turn = threading.Lock()
        self._all: list[sqlite3.Connection] = []

    @classmethod
    def create(cls, path: str | Path, clock: Callable[[], float] = time.time) -> Journal:
        """A new, empty journal."""
        if Path(path).exists():
            raise PorismError("is already there", where=str(path), fix="name another file, or go on with this one")
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        # It holds password hashes: for its owner alone.
        Path(path).touch(mode=0o600)
        journal = cls(path, clock)
        connection = journal._connect()
        connection.executescript(
            f"BEGIN IMMEDIATE; {TABLES} INSERT INTO meta VALUES ('format', '{FORMAT}'), ('secret', '{secrets.token_hex(32)}'); COMMIT;"
        )
        return journal

    @classmethod
    def open(cls, path: str | Path, clock: Callable[[], float] = time.time) -> Journal:
        """An existing journal; another kind of file is told apart."""
        if not Path(path).is_file():
            raise PorismError("no such journal", where=str(path), fix=f"porism assess create {path}")
        journal = cls(path, clock)
        try:
            found = journal.read("SELECT value FROM meta WHERE name = 'format'")
        except sqlite3.DatabaseError:
            found = []
        if not found or found[0]["value"] != str(FORMAT):
            raise PorismError(
                "is not a journal of this version",
                where=str(path),
                fix="name the file that `porism assess create` made",
            )
        return journal

    def _connect(self, sync: str = "FULL") -> sqlite3.Connection:
        """This thread's connection. With FULL a commit is on the disk when it returns; with NORMAL it survives the end of this
        process, but the last moments may be lost with the machine's power."""
        held: sqlite3.Connection | None = getattr(self._local, sync, None)
        if held is None:
            held = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
            held.row_factory = sqlite3.Row
            held.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = {sync}; PRAGMA foreign_keys = ON;")
            setattr(self._local, sync, held)
            self._all.append(held)
        return held

    def close(self) -> None:
        """Close every connection of this journal."""
        for connection in self._all:
            connection.close()
        self._all.clear()
        self._local = threading.local()

    def read(self, query: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """All rows of a query."""
        return self._connect().execute(query, values).fetchall()

    @contextlib.contextmanager
    def write(self, sync: str = "FULL") -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is stored, or nothing."""
        connection = self._connect(sync)
        with self._turn:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def append(
        self, assessor: str, assignment: int, entries: Sequence[Entry], once: str, at: float | None = None
    ) -> int:
        """Store entries as events and say how many are new: a repeated `once` changes nothing."""
        moment = self.clock() if at is None else at
        rows = [(moment, assessor, assignment, *entry, once) for entry in entries]
        # That a page was opened only serves the clock: no need to wait for the disk.
        sync = "NORMAL" if all(entry.field == "open" for entry in entries) else "FULL"
        with self.write(sync) as connection:
            before = connection.total_changes
            connection.executemany(
                "INSERT INTO event (at, assessor, assignment, item, instance, field, value, once) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            return connection.total_changes - before

    def holds(self, assignment: int, entry: Entry, once: str) -> bool:
        """Was this entry stored under this `once`?"""
        query = "SELECT 1 FROM event WHERE assignment = ? AND once = ? AND item = ? AND instance = ? AND field = ?"
        return bool(self.read(query, (assignment, once, *entry[:3])))

    def events(self, assignment: int | None = None) -> Iterator[Event]:
        """Events in the order they came, of one assignment or of all."""
        where, values = ("WHERE assignment = ?", (assignment,)) if assignment is not None else ("", ())
        for row in self._connect().execute(f"SELECT {EVENT_COLUMNS} FROM event {where} ORDER BY id", values):
            yield Event(*row)

    def last(self, assignment: int, item: str = "") -> dict[tuple[str, int, str], str]:
        """What stands: (item, instance, field) -> value of its last event; of one item or of the whole assignment.

        The empty item carries what is said of the topic itself, such as the narrative.
        """
        rows = self._connect().execute(
            "SELECT item, instance, field, value, max(id) FROM event WHERE assignment = ? AND (? = '' OR item = ?) "
            "AND field NOT IN ('open', 'submit') GROUP BY item, instance, field",
            (assignment, item, item),
        )
        return {(row[0], row[1], row[2]): row[3] for row in rows}

    def backup(self, target: str | Path) -> None:
        """Copy the journal, also while a server writes to it, into one whole file."""
        place = Path(target)
        if place.exists():
            raise PorismError("is already there", where=str(place), fix="name a new file for each backup")
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(place.name + ".part")
        part.unlink(missing_ok=True)
        part.touch(mode=0o600)
        with contextlib.closing(sqlite3.connect(part)) as copy:
            self._connect().backup(copy)
            # One file: a copy in WAL mode would need its companion files.
            copy.execute("PRAGMA journal_mode = DELETE")
            damage = copy.execute("PRAGMA integrity_check").fetchone()[0]
        if damage != "ok":
            raise PorismError(f"the copy is damaged: {damage}", where=str(part), fix="check the disk, then try again")
        part.rename(place)
