"""The work database of a build: its tables, a named record for every row that a stage reads or writes, and the first
stage, which puts every record of every source into it, in order, in committed batches.

Records are counted per file; when a stopped build continues, it reads the file from the start and skips the records it
already has."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from porism.corpus.build.ledger import Ledger
from porism.corpus.post import PostKind
from porism.corpus.sources import raw
from porism.corpus.sources.raw import Dropped, Form, Part, Record
from porism.corpus.store.schema import FORMULA_KINDS

# What the sources hold, as it was read.
SOURCE_TABLES = """
CREATE TABLE IF NOT EXISTS parts(source INTEGER, name TEXT, records INTEGER, done INTEGER, PRIMARY KEY(source, name));
CREATE TABLE IF NOT EXISTS shifts(source INTEGER PRIMARY KEY, shift INTEGER);
CREATE TABLE IF NOT EXISTS posts(
    seq INTEGER PRIMARY KEY, source INTEGER, id INTEGER, kind TEXT, parent_id INTEGER, title TEXT, body TEXT, form TEXT,
    tags TEXT, score INTEGER, created TEXT, owner_id INTEGER, accepted_id INTEGER, views INTEGER, closed TEXT,
    line INTEGER, file TEXT);
CREATE TABLE IF NOT EXISTS comments(
    seq INTEGER PRIMARY KEY, source INTEGER, id INTEGER, post_id INTEGER, body TEXT, form TEXT, score INTEGER,
    created TEXT, owner_id INTEGER, line INTEGER);
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
CREATE TABLE IF NOT EXISTS images(seq INTEGER PRIMARY KEY, source INTEGER, name TEXT, data BLOB);
"""
# What the stages of a build make of it. `found` holds the formulas of the new collection, `placed` the official ones
# that a text marks, `latex` the distinct expressions; the tables `base_*` describe the collection that is added to.
BUILD_TABLES = """
CREATE TABLE IF NOT EXISTS progress(stage TEXT PRIMARY KEY, done INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS found(
    id INTEGER PRIMARY KEY, post_id INTEGER, thread_id INTEGER, kind INTEGER, comment_id INTEGER, expression_id INTEGER,
    visual_id INTEGER, old_visual_id INTEGER, issue TEXT);
CREATE TABLE IF NOT EXISTS placed(formula_id INTEGER PRIMARY KEY, comment_id INTEGER);
CREATE TABLE IF NOT EXISTS latex(id INTEGER PRIMARY KEY, latex TEXT, mathml TEXT, content TEXT, visual_id INTEGER);
CREATE TABLE IF NOT EXISTS latex_keys(hash INTEGER PRIMARY KEY, id INTEGER);
CREATE TABLE IF NOT EXISTS visual_keys(key INTEGER PRIMARY KEY, visual_id INTEGER);
CREATE TABLE IF NOT EXISTS expression_visuals(id INTEGER PRIMARY KEY, key INTEGER, visual_id INTEGER);
CREATE TABLE IF NOT EXISTS base_posts(id INTEGER PRIMARY KEY, thread_id INTEGER, kind TEXT);
CREATE TABLE IF NOT EXISTS base_comments(id INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS base_tops(what TEXT PRIMARY KEY, top INTEGER) WITHOUT ROWID;
"""
# Made when everything is read: rows are then sorted once instead of one by one.
INDEXES = """
CREATE INDEX IF NOT EXISTS posts_parent ON posts(source, parent_id, seq);
CREATE INDEX IF NOT EXISTS posts_id ON posts(source, id, seq);
CREATE INDEX IF NOT EXISTS comments_post ON comments(source, post_id, seq);
CREATE INDEX IF NOT EXISTS comments_id ON comments(source, id, seq);
CREATE INDEX IF NOT EXISTS formulas_id ON formulas(source, id, seq);
CREATE INDEX IF NOT EXISTS mathml_id ON mathml(source, id, field);
CREATE INDEX IF NOT EXISTS revisions_post ON revisions(source, post_id, seq);
"""

TITLE, QUESTION, ANSWER, COMMENT = range(len(FORMULA_KINDS))


class PostRow(NamedTuple):
    """A post as its source has it; ids are not shifted yet."""

    seq: int
    id: int
    kind: PostKind
    parent_id: int | None
    accepted_id: int | None
    score: int
    created: str
    owner_id: int | None
    views: int | None
    closed: str
    tags: str
    file: str
    title: str
    body: str
    form: Form


class CommentRow(NamedTuple):
    """A comment as its source has it."""

    seq: int
    id: int
    post_id: int
    score: int
    created: str
    owner_id: int | None
    body: str
    form: Form


class FoundFormula(NamedTuple):
    """A formula of the new collection; `kind` is its place in FORMULA_KINDS."""

    id: int
    post_id: int
    thread_id: int
    kind: int
    comment_id: int | None
    expression_id: int
    visual_id: int | None = None
    old_visual_id: int | None = None
    issue: str = ""


class ExpressionRow(NamedTuple):
    """A distinct LaTeX, with the MathML and the visual id that its source gives."""

    id: int
    latex: str
    mathml: str | None
    content: str | None
    visual_id: int | None


Row = TypeVar("Row", bound=NamedTuple)


def columns(row: type[NamedTuple]) -> str:
    """Return the columns of a record, for a SELECT."""
    return ", ".join(row._fields)


def insert(table: str, row: type[NamedTuple]) -> str:
    """Return the INSERT of a record into a table with the same columns."""
    return f"INSERT INTO {table}({columns(row)}) VALUES({', '.join('?' * len(row._fields))})"


def replace(table: str, row: type[NamedTuple]) -> str:
    """Return the statement that writes a record into a table, in place of one with the same key."""
    return insert(table, row).replace("INSERT", "INSERT OR REPLACE", 1)


def rows(database: sqlite3.Connection, kind: type[Row], query: str, *values: object) -> list[Row]:
    """Return the result of a query whose columns are those of a record."""
    return [kind._make(row) for row in database.execute(query, values)]


def number(database: sqlite3.Connection, query: str, *values: object) -> int:
    """Return the one number that a query gives; 0 for NULL or no row."""
    row = database.execute(query, values).fetchone()
    return 0 if row is None or row[0] is None else int(row[0])


def connect(path: Path) -> sqlite3.Connection:
    """Open the work database. Each batch of a stage is committed together with the note of how far the stage is."""
    database = sqlite3.connect(path)
    database.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536; PRAGMA temp_store = FILE;"
    )
    database.executescript(SOURCE_TABLES)
    database.executescript(BUILD_TABLES)
    return database


def progress(database: sqlite3.Connection, stage: str) -> int:
    """Return how far a stage is."""
    return number(database, "SELECT done FROM progress WHERE stage = ?", stage)


def note(database: sqlite3.Connection, stage: str, done: int) -> None:
    """Note how far a stage is; the caller commits."""
    database.execute("INSERT OR REPLACE INTO progress VALUES(?, ?)", (stage, done))


def top(database: sqlite3.Connection, what: str) -> int:
    """Return the highest id of the collection that is added to; 0 where there is none."""
    return number(database, "SELECT top FROM base_tops WHERE what = ?", what)


def top_id(database: sqlite3.Connection) -> int:
    """Return the highest formula id so far."""
    return max(top(database, "formulas"), number(database, "SELECT max(id) FROM found"))


# What SQLite raises for values that it cannot store: numbers beyond 64 bits, lone surrogates, lists and objects.
UNSTORABLE = (OverflowError, UnicodeError, sqlite3.InterfaceError, sqlite3.ProgrammingError)
BATCH = 5000
BATCH_TEXT = 20_000_000


class RecordKind:
    """A kind of record: its name in the report, and how it is written. Badges and votes are only counted."""

    def __init__(self, kind: type, table: str, name: str = "", insert: str = "") -> None:
        names = [field.name for field in fields(kind)]
        self.name = name or table
        self.insert = insert or f"INSERT INTO {table} VALUES(NULL, ?, {', '.join('?' * len(names))})"
        self.values: Callable[[Any], Sequence[Any]] = attrgetter(*names)  # all kinds have two or more
        self.texts = [name for name in names if name in ("body", "text", "data")]


INSERT_BADGE = """INSERT INTO badges(source, user_id, grade, number) VALUES(?, ?, ?, 1)
    ON CONFLICT DO UPDATE SET number = number + 1"""
INSERT_VOTE = """INSERT INTO votes(source, post_id, type, number, bounty) VALUES(?, ?, ?, 1, ?)
    ON CONFLICT DO UPDATE SET number = number + 1, bounty = bounty + excluded.bounty"""
KINDS: dict[type, RecordKind] = {
    raw.RawPost: RecordKind(raw.RawPost, "posts"),
    raw.RawComment: RecordKind(raw.RawComment, "comments"),
    raw.RawFormula: RecordKind(raw.RawFormula, "formulas", "formulas with ids"),
    raw.RawMathML: RecordKind(raw.RawMathML, "mathml", "formulas with MathML"),
    raw.RawLink: RecordKind(raw.RawLink, "links"),
    raw.RawTitle: RecordKind(raw.RawTitle, "titles", "titles of linked questions"),
    raw.RawUser: RecordKind(raw.RawUser, "users"),
    raw.RawBadge: RecordKind(raw.RawBadge, "badges", insert=INSERT_BADGE),
    raw.RawVote: RecordKind(raw.RawVote, "votes", insert=INSERT_VOTE),
    raw.RawRevision: RecordKind(raw.RawRevision, "revisions"),
    raw.RawImage: RecordKind(raw.RawImage, "images", "pictures"),
}


def stage_part(
    database: sqlite3.Connection, source: int, part: Part, ledger: Ledger, advance: Callable[[int], None]
) -> None:
    """Read one file into the work database, from where an earlier build stopped."""
    database.execute("INSERT OR IGNORE INTO parts VALUES(?, ?, 0, 0)", (source, part.name))
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
    """Yield the records of one batch. Its text is limited too, so that memory stays flat where posts are large."""
    size = 0
    for record in islice(stream, BATCH):
        yield record
        if not isinstance(record, Dropped):
            size += sum(len(getattr(record, name)) for name in KINDS[type(record)].texts)
        if size > BATCH_TEXT:
            return


def _insert(database: sqlite3.Connection, source: int, batch: Iterable[Record], ledger: Ledger) -> None:
    found: dict[type, list[Sequence[Any]]] = {}
    for record in batch:
        if isinstance(record, Dropped):
            ledger.read(record.what)
            ledger.drop(record.what, record.why, record.where)
        else:
            found.setdefault(type(record), []).append((source, *KINDS[type(record)].values(record)))
    if not database.in_transaction:
        database.execute("BEGIN")  # otherwise releasing the savepoint would commit
    for kind, values in found.items():
        ledger.read(KINDS[kind].name, len(values))
        database.execute("SAVEPOINT batch")
        try:
            database.executemany(KINDS[kind].insert, values)
        except UNSTORABLE:
            database.execute("ROLLBACK TO batch")
            _insert_singly(database, KINDS[kind], values, ledger)
        database.execute("RELEASE batch")


def _insert_singly(database: sqlite3.Connection, kind: RecordKind, values: list[Sequence[Any]], ledger: Ledger) -> None:
    """Insert records one by one; those that cannot be stored go to the ledger, and the build goes on."""
    for value in values:
        try:
            database.execute(kind.insert, value)
        except UNSTORABLE as error:
            # Without its values, so that equal faults are counted together.
            why = "text that is not Unicode" if isinstance(error, UnicodeError) else "a value of the wrong type"
            why = "a number is too large" if isinstance(error, OverflowError) else why
            ledger.drop(kind.name, why, f"record with the id {str(value[1])[:40]}")
