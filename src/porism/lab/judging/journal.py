"""The journal of an assessment: topics, items, accounts, and every click as an event that is never deleted.

The journal is one SQLite file in WAL mode. A write is on disk before the browser gets the answer (synchronous = FULL),
so a killed server loses nothing that it has confirmed. A repeated request carries the same request key and is stored
once. Every row has a checksum (`row_checks`).
"""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from porism.errors import PorismError
from porism.lab.judging.row_checks import check_statements, note_all_rows, write_checks

FORMAT = 3
WITHOUT_CHECKS = 2  # the format before rows had checksums; such a journal gets them when it is opened

# The events are the judgments. Triggers keep anyone from changing or deleting one, be it our code or a person at an SQL
# prompt. The current value of a field is that of the last event of its (assignment, item, instance, field).
TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE topic (
  task INTEGER NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, question TEXT NOT NULL, tags TEXT NOT NULL,
  formula_id TEXT NOT NULL, latex TEXT NOT NULL, thread_id INTEGER,
  PRIMARY KEY (task, id)) WITHOUT ROWID;
CREATE TABLE item (
  key TEXT PRIMARY KEY, task INTEGER NOT NULL, topic TEXT NOT NULL, item TEXT NOT NULL, round INTEGER NOT NULL,
  position INTEGER NOT NULL, sampled INTEGER NOT NULL DEFAULT 1, text TEXT NOT NULL DEFAULT '', known_grade INTEGER,
  reason TEXT NOT NULL DEFAULT '', UNIQUE (task, topic, item)) WITHOUT ROWID;
CREATE TABLE instance (
  item TEXT NOT NULL REFERENCES item(key), number INTEGER NOT NULL, formula_id INTEGER, post_id INTEGER,
  PRIMARY KEY (item, number)) WITHOUT ROWID;
CREATE TABLE account (
  name TEXT PRIMARY KEY, role TEXT NOT NULL CHECK (role IN ('assessor', 'organiser', 'team')),
  password_hash TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE session (
  token_hash TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES account(name), last_seen REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE login_failure (at REAL NOT NULL, name TEXT NOT NULL, address TEXT NOT NULL);
CREATE TABLE assignment (
  id INTEGER PRIMARY KEY, assessor TEXT NOT NULL, task INTEGER NOT NULL, topic TEXT NOT NULL,
  purpose TEXT NOT NULL CHECK (purpose IN ('main', 'dual', 'training', 'extra')), round INTEGER NOT NULL DEFAULT 1,
  UNIQUE (assessor, task, topic, purpose, round));
CREATE TABLE assigned (
  assignment INTEGER NOT NULL REFERENCES assignment(id), position INTEGER NOT NULL,
  item TEXT NOT NULL REFERENCES item(key),
  PRIMARY KEY (assignment, position), UNIQUE (assignment, item)) WITHOUT ROWID;
CREATE TABLE event (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, assessor TEXT NOT NULL, assignment INTEGER NOT NULL,
  item TEXT NOT NULL, instance INTEGER NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, request_key TEXT NOT NULL,
  UNIQUE (assignment, request_key, item, instance, field));
CREATE INDEX event_of_field ON event (assignment, item, instance, field, id);
CREATE TRIGGER event_no_update BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER event_no_delete BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
-- REPLACE deletes a row without firing the trigger above.
CREATE TRIGGER event_no_replace BEFORE INSERT ON event WHEN EXISTS (SELECT 1 FROM event WHERE id = NEW.id)
  BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
-- A repeated request is stored once.
CREATE TRIGGER event_stored_once BEFORE INSERT ON event
  WHEN EXISTS (SELECT 1 FROM event WHERE assignment = NEW.assignment AND request_key = NEW.request_key
    AND item = NEW.item AND instance = NEW.instance AND field = NEW.field)
  BEGIN SELECT RAISE(IGNORE); END;
"""


T = TypeVar("T")


class FieldKey(NamedTuple):
    """A field of one card of one item. Fields of the topic itself have the item "" and instance 0."""

    item: str
    instance: int
    field: str


Values = Mapping[FieldKey, str]


def topic_field(field: str) -> FieldKey:
    """Return the key of a field of the topic itself, such as the narrative."""
    return FieldKey("", 0, field)


class JournalEntry(NamedTuple):
    """A value that an assessor gives to a field: grade, comment, open, submit, narrative, ..."""

    item: str
    instance: int
    field: str
    value: str

    @property
    def key(self) -> FieldKey:
        """The field that the entry sets."""
        return FieldKey(self.item, self.instance, self.field)


@dataclass(frozen=True, slots=True)
class Event:
    """A stored entry: who made it, when, and in which assignment."""

    id: int
    at: float
    assessor: str
    assignment: int
    item: str
    instance: int
    field: str
    value: str


class _ThreadConnections:
    """The connections of one thread, by their setting of `synchronous`. They are closed when the thread has ended."""

    def __init__(self) -> None:
        self.by_setting: dict[str, sqlite3.Connection] = {}

    def close(self) -> None:
        """Close the connections."""
        while self.by_setting:  # the journal and the end of a thread may close them at the same time
            with contextlib.suppress(KeyError):
                self.by_setting.popitem()[1].close()

    def __del__(self) -> None:
        self.close()


class Journal:
    """An open journal. Every thread has its own connection; the writers of this process take turns."""

    def __init__(self, path: str | Path, clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path)
        self.clock = clock
        self._local = threading.local()
        self._write_lock = threading.Lock()
        self._threads: weakref.WeakSet[_ThreadConnections] = weakref.WeakSet()

    @classmethod
    def create(cls, path: str | Path, clock: Callable[[], float] = time.time) -> Journal:
        """Create an empty journal."""
        if Path(path).exists():
            raise PorismError("already exists", where=str(path), fix="name another file, or use this journal")
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        # Only the owner may read it: it holds password hashes.
        Path(path).touch(mode=0o600)
        journal = cls(path, clock)
        secret = secrets.token_hex(32)
        journal._connect().executescript(f"BEGIN IMMEDIATE; {TABLES} {' '.join(check_statements())} COMMIT;")
        with journal.write() as connection:
            connection.executemany("INSERT INTO meta VALUES (?, ?)", [("format", str(FORMAT)), ("secret", secret)])
        return journal

    @classmethod
    def open(cls, path: str | Path, clock: Callable[[], float] = time.time) -> Journal:
        """Open an existing journal; refuse any other kind of file."""
        if not Path(path).is_file():
            raise PorismError("no such journal", where=str(path), fix=f"porism lab assess create {path}")
        journal = cls(path, clock)
        version = journal._version()
        if version == str(WITHOUT_CHECKS):
            with journal.write() as connection:
                if journal._version() == str(WITHOUT_CHECKS):  # else another process was faster
                    for statement in check_statements():
                        connection.execute(statement)
                    connection.execute("UPDATE meta SET value = ? WHERE name = 'format'", (str(FORMAT),))
                    note_all_rows(connection)
        elif version != str(FORMAT):
            journal.close()
            fix = "name a file that `porism lab assess create` made, or restore the last backup"
            raise PorismError("not a journal of this version, or it is damaged", where=str(path), fix=fix)
        return journal

    def _version(self) -> str:
        """Return the format, "" for a file that is no journal."""
        # SQLite quotes damaged bytes of its schema in its messages.
        with contextlib.suppress(sqlite3.DatabaseError, UnicodeDecodeError):
            for row in self.read("SELECT value FROM meta WHERE name = 'format'"):
                return str(row["value"])
        return ""

    def _connect(self, sync: str = "FULL") -> sqlite3.Connection:
        """Return this thread's connection. With FULL, a commit is on disk when it returns; with NORMAL, a power failure
        may lose the last moments, but not the end of this process."""
        own: _ThreadConnections | None = getattr(self._local, "connections", None)
        if own is None:
            own = self._local.connections = _ThreadConnections()
            self._threads.add(own)
        connection = own.by_setting.get(sync)
        if connection is None:
            connection = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
            connection.row_factory = sqlite3.Row
            settings = ("journal_mode = WAL", f"synchronous = {sync}", "foreign_keys = ON")
            connection.executescript("".join(f"PRAGMA {setting};" for setting in settings))
            own.by_setting[sync] = connection
        return connection

    def close(self) -> None:
        """Close every connection of this journal."""
        for connections in list(self._threads):
            connections.close()
        self._local = threading.local()

    def read(self, query: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Return all rows of a query."""
        return self._connect().execute(query, values).fetchall()

    def records(self, kind: Callable[..., T], query: str, values: Sequence[Any] = ()) -> list[T]:
        """Return all rows of a query as records; each column sets the field of its name."""
        return [kind(**row) for row in self.read(query, values)]

    def count(self, query: str, values: Sequence[Any] = ()) -> int:
        """Return the single number that a query computes."""
        return int(self.read(query, values)[0][0])

    @contextlib.contextmanager
    def write(self, sync: str = "FULL") -> Iterator[sqlite3.Connection]:
        """Run a transaction: all of it is stored, or nothing."""
        connection = self._connect(sync)
        with self._write_lock:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                write_checks(connection)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def append(
        self, assessor: str, assignment: int, entries: Sequence[JournalEntry], request_key: str, at: float | None = None
    ) -> int:
        """Store entries as events and return how many are new. A repeated request key changes nothing."""
        when = self.clock() if at is None else at
        rows = [(when, assessor, assignment, *entry, request_key) for entry in entries]
        columns = "at, assessor, assignment, item, instance, field, value, request_key"
        # The opening of a page only serves to measure time, so it need not wait for the disk.
        sync = "NORMAL" if all(entry.field == "open" for entry in entries) else "FULL"
        with self.write(sync) as connection:
            before = _unchecked_events(connection)
            connection.executemany(f"INSERT INTO event ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            return _unchecked_events(connection) - before

    def has_entry(self, assignment: int, entry: JournalEntry, request_key: str) -> bool:
        """Return whether this entry was stored under this request key."""
        where = "assignment = ? AND request_key = ? AND item = ? AND instance = ? AND field = ?"
        return bool(self.read(f"SELECT 1 FROM event WHERE {where}", (assignment, request_key, *entry.key)))

    def _events(self, where: str, values: Sequence[Any] = ()) -> Iterator[Event]:
        columns = "id, at, assessor, assignment, item, instance, field, value"
        for row in self._connect().execute(f"SELECT {columns} FROM event WHERE {where} ORDER BY id", values):
            yield Event(**row)

    def events(self, assignment: int | None = None) -> Iterator[Event]:
        """Yield events in the order they came, of one assignment or of all."""
        return self._events("true") if assignment is None else self._events("assignment = ?", (assignment,))

    def messages(self, assignment: int | None = None) -> Iterator[Event]:
        """Yield questions to the organiser and their answers in the order they came, of one assignment or of all."""
        where = "field IN ('question', 'answer') AND (? IS NULL OR assignment = ?)"
        return self._events(where, (assignment, assignment))

    def item_events(self, item: str) -> Iterator[Event]:
        """Yield every entry about one item, by all assessors, in the order they came."""
        return self._events("item = ? AND field NOT IN ('open', 'submit')", (item,))

    def current_values(self, assignment: int, item: str = "") -> dict[FieldKey, str]:
        """Return the current value of every field, of one item or of the whole assignment with its topic."""
        rows = self._connect().execute(
            "SELECT item, instance, field, value, max(id) FROM event WHERE assignment = ? AND (? = '' OR item = ?) "
            "AND field NOT IN ('open', 'submit') GROUP BY item, instance, field",
            (assignment, item, item),
        )
        return {FieldKey(row["item"], row["instance"], row["field"]): row["value"] for row in rows}

    def backup(self, target: str | Path) -> None:
        """Copy the journal into one file, even while a server writes to it."""
        copy_path = Path(target)
        if copy_path.exists():
            raise PorismError("already exists", where=str(copy_path), fix="name a new file for each backup")
        copy_path.parent.mkdir(parents=True, exist_ok=True)
        part = copy_path.with_name(copy_path.name + ".part")
        part.unlink(missing_ok=True)
        part.touch(mode=0o600)
        with contextlib.closing(sqlite3.connect(part)) as copy:
            self._connect().backup(copy)
            # One file: a copy in WAL mode would need its companion files.
            copy.execute("PRAGMA journal_mode = DELETE")
            damage = copy.execute("PRAGMA integrity_check").fetchone()[0]
        if damage != "ok":
            raise PorismError(f"the copy is damaged: {damage}", where=str(part), fix="check the disk, then try again")
        part.rename(copy_path)


def _unchecked_events(connection: sqlite3.Connection) -> int:
    """Return how many events this transaction has stored so far; their checksums are written at its end."""
    return int(connection.execute("SELECT count(*) FROM unchecked WHERE name = 'event'").fetchone()[0])
