"""The first stage of a build: every record of every source goes into one work database, in order, in committed batches.

A record has its number in its file; a stopped build reads the file again from the start and skips the records it already has.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from porism.corpus.build.ledger import Ledger
from porism.corpus.sources.raw import (
    Dropped,
    Part,
    RawBadge,
    RawComment,
    RawFormula,
    RawLink,
    RawMathML,
    RawPost,
    RawRevision,
    RawTitle,
    RawUser,
    RawVote,
    Record,
)

BATCH = 5000
BATCH_TEXT = 20_000_000

TABLES = """
CREATE TABLE IF NOT EXISTS parts(source INTEGER, name TEXT, records INTEGER, done INTEGER, PRIMARY KEY(source, name));
CREATE TABLE IF NOT EXISTS shifts(source INTEGER PRIMARY KEY, shift INTEGER);
CREATE TABLE IF NOT EXISTS posts(
    seq INTEGER PRIMARY KEY, source INTEGER, id INTEGER, kind TEXT, parent_id INTEGER, title TEXT, body TEXT, form TEXT, tags TEXT,
    score INTEGER, created TEXT, owner_id INTEGER, accepted_id INTEGER, views INTEGER, closed TEXT, line INTEGER,
    file TEXT);
CREATE TABLE IF NOT EXISTS comments(
    seq INTEGER PRIMARY KEY, source INTEGER, id INTEGER, post_id INTEGER, body TEXT, form TEXT, score INTEGER, created TEXT,
    owner_id INTEGER, line INTEGER);
CREATE TABLE IF NOT EXISTS formulas(
    seq INTEGER PRIMARY KEY, source INTEGER, id INTEGER, post_id INTEGER, thread_id INTEGER, kind TEXT, latex TEXT,
    visual_id INTEGER, comment_id INTEGER, old_visual_id INTEGER, issue TEXT, mathml TEXT, content TEXT);
CREATE TABLE IF NOT EXISTS mathml(
    seq INTEGER PRIMARY KEY, source INTEGER, id INTEGER, field TEXT, text TEXT);
CREATE TABLE IF NOT EXISTS links(seq INTEGER PRIMARY KEY, source INTEGER, post_id INTEGER, other_id INTEGER, kind TEXT);
CREATE TABLE IF NOT EXISTS titles(seq INTEGER PRIMARY KEY, source INTEGER, id INTEGER, title TEXT);
CREATE TABLE IF NOT EXISTS users(seq INTEGER PRIMARY KEY, source INTEGER, id INTEGER, name TEXT, reputation INTEGER);
CREATE TABLE IF NOT EXISTS badges(user_id INTEGER, source INTEGER, grade INTEGER, number INTEGER,
    PRIMARY KEY(source, user_id, grade)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS votes(post_id INTEGER, source INTEGER, type INTEGER, number INTEGER, bounty INTEGER,
    PRIMARY KEY(source, post_id, type)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS revisions(seq INTEGER PRIMARY KEY, source INTEGER, post_id INTEGER, field TEXT, text TEXT);
"""

INDEXES = """
CREATE INDEX IF NOT EXISTS posts_parent ON posts(source, parent_id, seq);
CREATE INDEX IF NOT EXISTS posts_id ON posts(source, id, seq);
CREATE INDEX IF NOT EXISTS comments_post ON comments(source, post_id, seq);
CREATE INDEX IF NOT EXISTS comments_id ON comments(source, id, seq);
CREATE INDEX IF NOT EXISTS formulas_id ON formulas(source, id, seq);
CREATE INDEX IF NOT EXISTS mathml_id ON mathml(source, id, field);
CREATE INDEX IF NOT EXISTS revisions_post ON revisions(source, post_id, seq);
"""


def _plain(table: str, values: int) -> str:
    return f"INSERT INTO {table} VALUES(NULL, ?, {', '.join('?' * values)})"


# How each record is written; badges and votes are only counted.
INSERT: dict[type, str] = {
    RawPost: _plain("posts", 15),
    RawComment: _plain("comments", 8),
    RawFormula: _plain("formulas", 11),
    RawMathML: _plain("mathml", 3),
    RawLink: _plain("links", 3),
    RawTitle: _plain("titles", 2),
    RawUser: _plain("users", 3),
    RawRevision: _plain("revisions", 3),
    RawBadge: """INSERT INTO badges(source, user_id, grade, number) VALUES(?, ?, ?, 1)
        ON CONFLICT DO UPDATE SET number = number + 1""",
    RawVote: """INSERT INTO votes(source, post_id, type, number, bounty) VALUES(?, ?, ?, 1, ?)
        ON CONFLICT DO UPDATE SET number = number + 1, bounty = bounty + excluded.bounty""",
}

# The values of a record in the order of its fields (all have two or more).
VALUES: dict[type, Callable[[Any], Sequence[Any]]] = {
    kind: attrgetter(*(field.name for field in fields(kind))) for kind in INSERT
}

# What the report calls each kind of record.
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
}


def connect(path: Path) -> sqlite3.Connection:
    """The work database: each batch is committed with the note of how far it goes."""
    database = sqlite3.connect(path)
    database.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536; PRAGMA temp_store = FILE;"
    )
    database.executescript(TABLES)
    return database


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
    """Records of one batch: so many, or so many characters of text, because memory stays flat also where posts are large."""
    size = 0
    for record in islice(stream, BATCH):
        yield record
        size += len(getattr(record, "body", "")) + len(getattr(record, "text", ""))
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
    for kind, values in rows.items():
        ledger.read(NAMES[kind], len(values))
        database.executemany(INSERT[kind], values)


def prepare(database: sqlite3.Connection) -> None:
    """Indexes for the second stage."""
    database.executescript(INDEXES)
    database.commit()
