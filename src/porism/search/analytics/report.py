"""What a file of search analytics says: totals, popular queries and formulas, queries without results, clicks."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import starmap
from pathlib import Path

from porism.errors import PorismError
from porism.search.analytics.store import HOUR, open_database

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
        _hour(first), _hour(last), searches, without_results, clicks, unrecorded, minimum, hidden, hidden_searches,
        tuple(DayCount(_hour(day * 24)[:10], *counts) for day, *counts in reversed(days)),
        _queries(database, "searches", minimum, rows),
        _queries(database, "without_results", minimum, rows),
        tuple(starmap(FormulaCount, formulas)),
        tuple(starmap(PositionCount, positions)),
    )  # fmt: skip


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
