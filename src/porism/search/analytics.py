"""The file of search analytics: counts in SQLite, which several processes write. Its size is bounded.

It has no addresses, no user agents, no sessions, and no times finer than an hour. A query is a keyed hash until it was
searched `minimum_count` times; only then its text is stored. A click counts only for a hit that was shown, and at most
as often as it was shown."""

from __future__ import annotations

import hashlib
import re
import secrets
import sqlite3
import time
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import starmap
from pathlib import Path
from typing import NamedTuple

from porism.errors import PorismError
from porism.files import make_private
from porism.locks import only_writer
from porism.text.typed.box import split_query

MOST_CHARACTERS = 200  # a longer query is a text that somebody wrote
MINIMUM_COUNT = 5  # searches from which the text of a query is stored and shown
# What may name a person: an e-mail address, a web address, a long number outside formulas (telephone, account).
_PERSONAL = re.compile(r"\S@[^\s@]+\.[^\s@]|https?://|www\.|(?:\d[ ./()-]?){9,}")
_FORMULA = re.compile(r"\$[^$]*\$")


def recordable(query: str) -> str:
    """Return a query as it is counted, with white space made equal; nothing if it is not recorded."""
    text = " ".join(unicodedata.normalize("NFC", query).split())
    if len(text) > MOST_CHARACTERS or _PERSONAL.search(_FORMULA.sub(" ", text)):
        return ""
    return text


def keyed_hash(text: str, key: bytes) -> bytes:
    """Return a hash of a rare query, which counts it without storing its text. The key is that of the file."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), key=key, digest_size=16).digest()


FORMAT = 1
APPLICATION = 0x506F4141  # in the header of the file: it is a file of analytics
MOST_QUERIES = 50_000
MOST_FORMULAS = 20_000
MOST_SHOWN = 500_000  # rows of hits that were shown
MOST_HOURS = 400 * 24
MOST_POSITION = 50  # hits further down are not recorded
HOUR = 3600
BUSY_SECONDS = 5.0
FORGET_EVERY = 100  # writes between two looks at the size

_SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS hours (
  hour INTEGER PRIMARY KEY, searches INTEGER, without_results INTEGER, clicks INTEGER, unrecorded INTEGER);
CREATE TABLE IF NOT EXISTS queries (
  id INTEGER PRIMARY KEY, hash BLOB, tab TEXT, text TEXT, searches INTEGER, without_results INTEGER, last_hour INTEGER,
  UNIQUE (hash, tab));
CREATE TABLE IF NOT EXISTS formulas (
  hash BLOB PRIMARY KEY, latex TEXT, searches INTEGER, last_hour INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS shown (
  query INTEGER REFERENCES queries ON DELETE CASCADE, post INTEGER, position INTEGER, impressions INTEGER,
  clicks INTEGER, PRIMARY KEY (query, post, position)) WITHOUT ROWID;
"""


class ShownHit(NamedTuple):
    """A hit on a page of results, and its position in the ranking, from 1."""

    post: int
    position: int


@dataclass(frozen=True, slots=True)
class Search:
    """A search: query, tab, number of results, and the hits that were shown. A later page of it is no new search."""

    query: str
    tab: str
    results: int
    hits: tuple[ShownHit, ...] = ()
    is_first_page: bool = True


@dataclass(frozen=True, slots=True)
class Click:
    """A click on a hit."""

    query: str
    tab: str
    hit: ShownHit


def open_database(path: Path, *, create: bool = False) -> sqlite3.Connection:
    """Open a file of analytics. Without `create` it must exist, and is only read."""
    fix = "name a file that porism serve --analytics FILE writes"
    if not create and not path.is_file():
        raise PorismError("there is no such file", where=str(path), fix=fix)
    try:
        if create:
            make_private(path)
        mode = "rw" if create else "ro"
        database = sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True, timeout=BUSY_SECONDS)
        try:
            identity = database.execute("PRAGMA application_id").fetchone()[0]
            is_new = create and not database.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
            if identity != APPLICATION and not is_new:
                raise PorismError("not a file of search analytics", where=str(path), fix=fix)
        except BaseException:
            database.close()
            raise
        return database
    except (sqlite3.Error, OSError) as error:
        raise PorismError(
            f"cannot be opened as a file of search analytics ({error})", where=str(path), fix=fix
        ) from None


class AnalyticsStore:
    """A file of analytics that is open for writing. Other processes may write it, too."""

    def __init__(self, path: Path, minimum_count: int = MINIMUM_COUNT) -> None:
        self._minimum = minimum_count
        self._writes = 0
        with only_writer(path, wait=BUSY_SECONDS):  # SQLite does not wait where two processes create a file
            self._database = open_database(path, create=True)
            self._key = self._prepare()

    def _prepare(self) -> bytes:
        """Create what a new file lacks; return the key of its hashes."""
        self._database.isolation_level = None
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute("PRAGMA foreign_keys = ON")
        self._database.execute("PRAGMA secure_delete = ON")  # a query that is forgotten leaves nothing in the file
        self._database.executescript(_SCHEMA)
        with self._transaction():
            add = "INSERT OR IGNORE INTO settings VALUES (?, ?)"
            self._database.execute(add, ("key", secrets.token_bytes(32)))
            self._database.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", ("minimum_count", self._minimum))
        key: bytes = self._database.execute("SELECT value FROM settings WHERE name = 'key'").fetchone()[0]
        return key

    def write(self, events: Iterable[Search | Click], now: float | None = None) -> None:
        """Count events, all or none of them. `now` is the time in seconds since 1970."""
        hour = int(time.time() if now is None else now) // HOUR
        with self._transaction():
            for event in events:
                if isinstance(event, Search):
                    self._count_search(event, hour)
                else:
                    self._count_click(event, hour)
            if self._writes % FORGET_EVERY == 0:
                self._forget()
            self._writes += 1

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _count_search(self, event: Search, hour: int) -> None:
        text, is_new = recordable(event.query), event.is_first_page
        self._count_hour(hour, int(is_new), int(is_new and not event.results), 0, int(is_new and not text))
        if not text:
            return
        key = (keyed_hash(text, self._key), event.tab)
        if is_new:
            self._database.execute(
                """INSERT INTO queries (hash, tab, searches, without_results, last_hour) VALUES (?, ?, 1, ?, ?)
                ON CONFLICT DO UPDATE SET searches = searches + 1,
                without_results = without_results + excluded.without_results, last_hour = excluded.last_hour""",
                (*key, int(not event.results), hour),
            )
            reached = "UPDATE queries SET text = ? WHERE hash = ? AND tab = ? AND text IS NULL AND searches >= ?"
            self._database.execute(reached, (text, *key, self._minimum))
            self._count_formulas(text, hour)
        self._database.executemany(
            """INSERT INTO shown SELECT id, ?, ?, 1, 0 FROM queries WHERE hash = ? AND tab = ?
            ON CONFLICT DO UPDATE SET impressions = impressions + 1""",
            [(*hit, *key) for hit in event.hits if hit.position <= MOST_POSITION],
        )

    def _count_formulas(self, text: str, hour: int) -> None:
        formulas = {" ".join(part.latex.split()) for part in split_query(text) if part.kind == "formula"}
        for latex in sorted(formulas - {""}):
            self._database.execute(
                """INSERT INTO formulas VALUES (?, NULL, 1, ?)
                ON CONFLICT DO UPDATE SET searches = searches + 1, last_hour = excluded.last_hour""",
                (keyed_hash(latex, self._key), hour),
            )
            reached = "UPDATE formulas SET latex = ? WHERE hash = ? AND latex IS NULL AND searches >= ?"
            self._database.execute(reached, (latex, keyed_hash(latex, self._key), self._minimum))

    def _count_click(self, event: Click, hour: int) -> None:
        changed = self._database.execute(
            """UPDATE shown SET clicks = clicks + 1 WHERE post = ? AND position = ? AND clicks < impressions
            AND query = (SELECT id FROM queries WHERE hash = ? AND tab = ?)""",
            (*event.hit, keyed_hash(recordable(event.query), self._key), event.tab),
        ).rowcount
        if changed:
            self._count_hour(hour, 0, 0, 1, 0)

    def _count_hour(self, hour: int, *counts: int) -> None:
        self._database.execute(
            """INSERT INTO hours VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET searches = searches + excluded.searches, clicks = clicks + excluded.clicks,
            without_results = without_results + excluded.without_results,
            unrecorded = unrecorded + excluded.unrecorded""",
            (hour, *counts),
        )

    def _forget(self) -> None:
        """Keep the size bounded: the rarest and oldest rows go first, a tenth at a time."""
        rarest = "DELETE FROM {0} WHERE rowid IN (SELECT rowid FROM {0} ORDER BY searches, last_hour LIMIT ?)"
        if self._rows("queries") > MOST_QUERIES or self._rows("shown") > MOST_SHOWN:
            self._database.execute(rarest.format("queries"), (max(1, self._rows("queries") // 10),))
        if self._rows("formulas") > MOST_FORMULAS:
            self._database.execute(
                "DELETE FROM formulas WHERE hash IN (SELECT hash FROM formulas ORDER BY searches, last_hour LIMIT ?)",
                (MOST_FORMULAS // 10,),
            )
        self._database.execute(
            "DELETE FROM hours WHERE hour < (SELECT hour FROM hours ORDER BY hour DESC LIMIT 1 OFFSET ?)", (MOST_HOURS,)
        )

    def _rows(self, table: str) -> int:
        return int(self._database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


MOST_ROWS = 50  # of each table
MOST_DAYS = 30


@dataclass(frozen=True, slots=True)
class DayCount:
    """A day (UTC) and what happened on it."""

    day: str
    searches: int
    without_results: int
    clicks: int


@dataclass(frozen=True, slots=True)
class QueryCount:
    """A frequent query: its searches, those without results, and clicks on its hits."""

    query: str
    tab: str
    searches: int
    without_results: int
    clicks: int


@dataclass(frozen=True, slots=True)
class FormulaCount:
    """A formula of frequent queries."""

    latex: str
    searches: int


@dataclass(frozen=True, slots=True)
class PositionCount:
    """A position in rankings: how often a hit was shown and clicked there."""

    position: int
    impressions: int
    clicks: int


@dataclass(frozen=True, slots=True)
class Report:
    """Search analytics. Rare queries (`minimum_count`) are only counted: `hidden_queries`, `hidden_searches`.

    `unrecorded` searches were too long or looked personal; they are in the totals alone."""

    since: str
    until: str
    searches: int
    without_results: int
    clicks: int
    unrecorded: int
    minimum_count: int
    hidden_queries: int
    hidden_searches: int
    days: tuple[DayCount, ...]
    queries: tuple[QueryCount, ...]
    queries_without_results: tuple[QueryCount, ...]
    formulas: tuple[FormulaCount, ...]
    positions: tuple[PositionCount, ...]


def read_report(path: Path, minimum_count: int | None = None, rows: int = MOST_ROWS) -> Report:
    """Read a file of analytics. `minimum_count` may be larger than that of the file; a smaller one has no effect."""
    database = open_database(path)
    try:
        stored = database.execute("SELECT value FROM settings WHERE name = 'minimum_count'").fetchone()
        return _report(database, max(minimum_count or 0, int(stored[0])), rows)
    except (sqlite3.Error, TypeError) as error:
        fix = "name a file that porism serve --analytics FILE writes"
        raise PorismError(f"cannot be read ({error})", where=str(path), fix=fix) from None
    finally:
        database.close()


def _report(database: sqlite3.Connection, minimum: int, rows: int) -> Report:
    database.execute("BEGIN")  # all tables in one state
    first, last, searches, without_results, clicks, unrecorded = database.execute(
        """SELECT min(hour), max(hour), coalesce(sum(searches), 0), coalesce(sum(without_results), 0),
        coalesce(sum(clicks), 0), coalesce(sum(unrecorded), 0) FROM hours"""
    ).fetchone()
    hidden, hidden_searches = database.execute(
        "SELECT count(*), coalesce(sum(searches), 0) FROM queries WHERE text IS NULL OR searches < ?", (minimum,)
    ).fetchone()
    days = database.execute(
        """SELECT hour / 24, sum(searches), sum(without_results), sum(clicks) FROM hours
        GROUP BY hour / 24 ORDER BY hour / 24 DESC LIMIT ?""",
        (MOST_DAYS,),
    ).fetchall()
    formulas = database.execute(
        """SELECT latex, searches FROM formulas WHERE latex IS NOT NULL AND searches >= ?
        ORDER BY searches DESC, latex LIMIT ?""",
        (minimum, rows),
    )
    positions = database.execute(
        "SELECT position, sum(impressions), sum(clicks) FROM shown GROUP BY position ORDER BY position"
    )
    return Report(
        _hour(first),
        _hour(last),
        searches,
        without_results,
        clicks,
        unrecorded,
        minimum,
        hidden,
        hidden_searches,
        tuple(DayCount(_hour(day * 24)[:10], *counts) for day, *counts in reversed(days)),
        _queries(database, "searches", minimum, rows),
        _queries(database, "without_results", minimum, rows),
        tuple(starmap(FormulaCount, formulas)),
        tuple(starmap(PositionCount, positions)),
    )


def _queries(database: sqlite3.Connection, column: str, minimum: int, rows: int) -> tuple[QueryCount, ...]:
    found = database.execute(
        f"""SELECT text, tab, searches, without_results,
        (SELECT coalesce(sum(clicks), 0) FROM shown WHERE query = queries.id) FROM queries
        WHERE text IS NOT NULL AND searches >= ? AND {column} > 0 ORDER BY {column} DESC, text, tab LIMIT ?""",
        (minimum, rows),
    )
    return tuple(starmap(QueryCount, found))


def _hour(hour: int | None) -> str:
    return "" if hour is None else datetime.fromtimestamp(hour * HOUR, UTC).strftime("%Y-%m-%dT%H:00Z")
