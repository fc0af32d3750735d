"""The file of search analytics: counts without personal data, of bounded size, written by several processes."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.search import analytics as store_module
from porism.search.analytics import AnalyticsStore, Click, PositionCount, Search, ShownHit, read_report, recordable

HITS = (ShownHit(11, 1), ShownHit(12, 2))
NOW = 1_700_000_000.0


def write(path: Path, *events: Search | Click, minimum: int = 3) -> None:
    store = AnalyticsStore(path, minimum)
    store.write(events, NOW)
    store.close()


def content(path: Path) -> bytes:
    """Return everything that is on disk, the log of SQLite included."""
    return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


def test_the_text_of_a_rare_query_never_reaches_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "analytics"
    search = Search("Zermelo  $x_{zz}$", "answers", 2, HITS)
    write(path, search, search)
    assert b"Zermelo" not in content(path)
    assert b"x_{zz}" not in content(path)
    report = read_report(path)
    assert (report.queries, report.formulas, report.hidden_queries, report.hidden_searches) == ((), (), 1, 2)
    write(path, search)
    report = read_report(path)
    assert [(one.query, one.searches) for one in report.queries] == [("Zermelo $x_{zz}$", 3)]
    assert [(one.latex, one.searches) for one in report.formulas] == [("x_{zz}", 3)]
    assert read_report(path, 4).queries == ()
    assert read_report(path, 1).minimum_count == 3


def test_times_are_hours(tmp_path: Path) -> None:
    path = tmp_path / "analytics"
    write(path, Search("a", "answers", 0))
    report = read_report(path)
    assert (report.since, report.until) == ("2023-11-14T22:00Z", "2023-11-14T22:00Z")
    assert [(day.day, day.searches, day.without_results) for day in report.days] == [("2023-11-14", 1, 1)]
    columns = {
        column
        for (table,) in sqlite3.connect(path).execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        for _, column, *_ in sqlite3.connect(path).execute(f"PRAGMA table_info({table})")
    }
    assert not columns & {"time", "address", "agent", "session", "user"}


@pytest.mark.parametrize(
    "query", ["mail me: a.b@example.org", "see https://example.org/x", "call +49 30 1234 5678", "word " * 50]
)
def test_what_looks_personal_is_only_counted(tmp_path: Path, query: str) -> None:
    path = tmp_path / "analytics"
    write(path, Search(query, "answers", 1, HITS), minimum=1)
    report = read_report(path)
    assert (report.searches, report.unrecorded, report.queries, report.hidden_queries) == (1, 1, (), 0)
    assert query.strip()[:12].encode() not in content(path)


def test_formulas_with_long_numbers_are_recorded() -> None:
    assert recordable(" is  $2^{61}-1 = 2305843009213693951$ prime ") == "is $2^{61}-1 = 2305843009213693951$ prime"


def test_a_click_counts_only_for_a_hit_that_was_shown(tmp_path: Path) -> None:
    path = tmp_path / "analytics"
    click = Click("a", "answers", ShownHit(12, 2))
    others = (Click("b", "answers", HITS[0]), Click("a", "questions", HITS[0]), Click("a", "answers", ShownHit(12, 1)))
    write(path, Search("a", "answers", 2, HITS), click, click, click, *others)
    report = read_report(path)
    assert report.clicks == 1
    assert report.positions == (PositionCount(1, 1, 0), PositionCount(2, 1, 1))


def test_a_second_page_is_no_new_search(tmp_path: Path) -> None:
    path = tmp_path / "analytics"
    write(path, Search("a", "answers", 20, HITS), Search("a", "answers", 20, (ShownHit(13, 11),), False))
    report = read_report(path)
    assert (report.searches, report.hidden_searches) == (1, 1)
    assert [one.position for one in report.positions] == [1, 2, 11]


def test_queries_without_results(tmp_path: Path) -> None:
    path = tmp_path / "analytics"
    events = [Search("nothing", "answers", 0)] * 3 + [Search("much", "answers", 9)] * 4
    write(path, *events)
    report = read_report(path)
    assert [one.query for one in report.queries] == ["much", "nothing"]
    assert [(one.query, one.without_results) for one in report.queries_without_results] == [("nothing", 3)]


def test_the_size_is_bounded_and_frequent_queries_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MOST_QUERIES", 50)
    monkeypatch.setattr(store_module, "MOST_FORMULAS", 50)
    monkeypatch.setattr(store_module, "FORGET_EVERY", 1)
    path = tmp_path / "analytics"
    store = AnalyticsStore(path, 3)
    store.write([Search("frequent", "answers", 2, HITS)] * 5, NOW)
    for number in range(300):
        store.write([Search(f"rare ${number}$", "answers", 2, HITS)], NOW + number)
    store.close()
    database = sqlite3.connect(path)
    for table, most in (("queries", 51), ("formulas", 51), ("shown", 102)):
        assert database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] <= most
    assert [one.query for one in read_report(path).queries] == ["frequent"]


def write_many(path: Path) -> None:
    store = AnalyticsStore(path)
    for _ in range(50):
        store.write([Search("shared", "answers", 2, HITS), Click("shared", "answers", HITS[0])])
    store.close()


def test_several_processes_write(tmp_path: Path) -> None:
    path = tmp_path / "analytics"
    processes = [multiprocessing.get_context("fork").Process(target=write_many, args=(path,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    report = read_report(path)
    assert [(one.searches, one.clicks) for one in report.queries] == [(150, 150)]


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PorismError, match="there is no such file"):
        read_report(tmp_path / "none")
    (tmp_path / "text").write_text("x" * 5000)
    with pytest.raises(PorismError, match="cannot be opened as a file of search analytics"):
        read_report(tmp_path / "text")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE posts (id)")
    other.close()
    for opening in (read_report, AnalyticsStore):
        with pytest.raises(PorismError, match="not a file of search analytics"):
            opening(tmp_path / "other")


def test_other_accounts_cannot_read_the_file(tmp_path: Path) -> None:
    path, before = tmp_path / "searches", os.umask(0o022)
    try:
        for _ in range(2):
            store = AnalyticsStore(path, 3)
            store.write([Search("a query", "answers", 3)])
            assert {one.name: one.stat().st_mode & 0o077 for one in tmp_path.glob("searches*")} == dict.fromkeys(
                ("searches", "searches-wal", "searches-shm"), 0
            )
            store.close()
        path.chmod(0o664)  # a file of an earlier version keeps what its group may do
        AnalyticsStore(path, 3).close()
        assert path.stat().st_mode & 0o777 == 0o660
    finally:
        os.umask(before)
