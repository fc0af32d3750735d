"""The first stage of a build: every record of every source goes into one work database, in order, in committed batches.

Records are counted per file; when a stopped build continues, it reads the file from the start and skips the records it
already has."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import islice
from operator import attrgetter
from typing import Any

from porism.corpus.build.ledger import Ledger
from porism.corpus.build.work import INDEXES
from porism.corpus.sources.raw import (
    Dropped,
    Part,
    RawBadge,
    RawComment,
    RawFormula,
    RawImage,
    RawLink,
    RawMathML,
    RawPost,
    RawRevision,
    RawTitle,
    RawUser,
    RawVote,
    Record,
)

# What SQLite raises for values that it cannot store: numbers beyond 64 bits, lone surrogates, lists and objects.
UNSTORABLE = (OverflowError, UnicodeError, sqlite3.InterfaceError, sqlite3.ProgrammingError)
BATCH = 5000
BATCH_TEXT = 20_000_000


def _insert_into(table: str, values: int) -> str:
    return f"INSERT INTO {table} VALUES(NULL, ?, {', '.join('?' * values)})"


# The statement that writes each kind of record; badges and votes are only counted.
INSERT: dict[type, str] = {
    RawPost: _insert_into("posts", 15),
    RawComment: _insert_into("comments", 8),
    RawFormula: _insert_into("formulas", 11),
    RawMathML: _insert_into("mathml", 3),
    RawLink: _insert_into("links", 3),
    RawTitle: _insert_into("titles", 2),
    RawUser: _insert_into("users", 3),
    RawRevision: _insert_into("revisions", 3),
    RawImage: _insert_into("images", 2),
    RawBadge: """INSERT INTO badges(source, user_id, grade, number) VALUES(?, ?, ?, 1)
        ON CONFLICT DO UPDATE SET number = number + 1""",
    RawVote: """INSERT INTO votes(source, post_id, type, number, bounty) VALUES(?, ?, ?, 1, ?)
        ON CONFLICT DO UPDATE SET number = number + 1, bounty = bounty + excluded.bounty""",
}

# The values of a record in the order of its fields (all have two or more).
VALUES: dict[type, Callable[[Any], Sequence[Any]]] = {
    kind: attrgetter(*(field.name for field in fields(kind))) for kind in INSERT
}

# The long texts of each kind of record.
TEXTS: dict[type, tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind) if field.name in ("body", "text", "data")) for kind in INSERT
}

# The name of each kind of record in the report.
NAMES: dict[type, str] = {
    RawPost: "posts",
    RawComment: "comments",
    RawFormula: "formulas with ids",
    RawMathML: "formulas with MathML",
    RawLink: "links",
    RawTitle: "titles of linked questions",
    RawUser: "users",
    RawBadge: "badges",
    RawVote: "votes",
    RawRevision: "revisions",
    RawImage: "pictures",
}


def stage_part(
    database: sqlite3.Connection, source: int, part: Part, ledger: Ledger, advance: Callable[[int], None]
) -> None:
    """Read one file into the work database, from where an earlier build stopped."""
    known = "INSERT OR IGNORE INTO parts VALUES(?, ?, 0, 0)"
    database.execute(known, (source, part.name))
    query = "SELECT records, done FROM parts WHERE source = ? AND name = ?"
    have, done = database.execute(query, (source, part.name)).fetchone()
    if done:
        return
    stream = islice(part.read(), have, None)
    while batch := list(_limited(stream)):
        _insert(database, source, batch, ledger)
        have += len(batch)
        database.execute("UPDATE parts SET records = ? WHERE source = ? AND name = ?", (have, source, part.name))
        ledger.save()
        database.commit()
        advance(part.meter.step() if part.meter else len(batch))
    database.execute("UPDATE parts SET done = 1 WHERE source = ? AND name = ?", (source, part.name))
    database.commit()


def _limited(stream: Iterator[Record]) -> Iterator[Record]:
    """Yield the records of one batch. Text is limited as well as their number, so that memory stays flat where posts
    are large."""
    size = 0
    for record in islice(stream, BATCH):
        yield record
        for field in TEXTS.get(type(record), ()):
            size += len(getattr(record, field))
        if size > BATCH_TEXT:
            return


def _insert(database: sqlite3.Connection, source: int, batch: Iterable[Record], ledger: Ledger) -> None:
    rows: dict[type, list[Sequence[Any]]] = {}
    for record in batch:
        if isinstance(record, Dropped):
            ledger.read(record.what)
            ledger.drop(record.what, record.why, record.where)
        else:
            rows.setdefault(type(record), []).append((source, *VALUES[type(record)](record)))
    if not database.in_transaction:
        database.execute("BEGIN")  # otherwise releasing the savepoint would commit
    for kind, values in rows.items():
        ledger.read(NAMES[kind], len(values))
        database.execute("SAVEPOINT batch")
        try:
            database.executemany(INSERT[kind], values)
        except UNSTORABLE:
            database.execute("ROLLBACK TO batch")
            _insert_singly(database, kind, values, ledger)
        database.execute("RELEASE batch")


def _insert_singly(database: sqlite3.Connection, kind: type, values: list[Sequence[Any]], ledger: Ledger) -> None:
    """Insert records one by one; those that cannot be stored go to the ledger, and the build goes on."""
    for value in values:
        try:
            database.execute(INSERT[kind], value)
        except UNSTORABLE as error:
            ledger.drop(NAMES[kind], _reason(error), f"record with the id {str(value[1])[:40]}")


def _reason(error: Exception) -> str:
    """Return why a record cannot be stored, without its values, so that equal faults are counted together."""
    if isinstance(error, OverflowError):
        return "a number is too large"
    return "text that is not Unicode" if isinstance(error, UnicodeError) else "a value of the wrong type"


def prepare(database: sqlite3.Connection) -> None:
    """Make the indexes that the second stage needs."""
    database.executescript(INDEXES)
    database.commit()
