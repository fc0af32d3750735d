from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.lab.judging.journal import Journal, JournalEntry


def make(path: Path) -> Journal:
    ticks = iter(range(1000))
    return Journal.create(path, clock=lambda: float(next(ticks)))


def test_the_last_event_counts_and_none_is_deleted(tmp_path: Path) -> None:
    journal = make(tmp_path / "j")
    journal.append("ann", 1, [JournalEntry("k", 1, "grade", "3")], "request-0001")
    journal.append(
        "ann", 1, [JournalEntry("k", 1, "grade", "0"), JournalEntry("k", 1, "comment", "hm")], "request-0002"
    )
    assert journal.current_values(1) == {("k", 1, "grade"): "0", ("k", 1, "comment"): "hm"}
    assert [(event.value, event.at) for event in journal.events(1)] == [("3", 0.0), ("0", 1.0), ("hm", 1.0)]
    assert journal.current_values(2) == {}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE event SET value = '3'",
        "DELETE FROM event",
        "REPLACE INTO event SELECT 1, 0, 'x', 1, 'k', 1, 'grade', '3', 'y'",
    ],
)
def test_no_statement_changes_or_deletes_an_event(tmp_path: Path, statement: str) -> None:
    journal = make(tmp_path / "j")
    journal.append("ann", 1, [JournalEntry("k", 1, "grade", "0")], "request-0001")
    with (
        pytest.raises(sqlite3.IntegrityError, match=r"events are never (changed|deleted)"),
        journal.write() as connection,
    ):
        connection.execute(statement)
    assert [event.value for event in journal.events()] == ["0"]


def test_a_stored_request_cannot_be_replaced(tmp_path: Path) -> None:
    journal = make(tmp_path / "j")
    journal.append("ann", 1, [JournalEntry("k", 1, "grade", "0")], "request-0001")
    with journal.write() as connection:
        connection.execute("REPLACE INTO event VALUES (9, 0, 'x', 1, 'k', 1, 'grade', '3', 'request-0001')")
    assert [event.value for event in journal.events()] == ["0"]


def test_a_repeated_request_is_stored_once(tmp_path: Path) -> None:
    journal = make(tmp_path / "j")
    entries = [JournalEntry("k", 1, "grade", "3"), JournalEntry("k", 2, "grade", "1")]
    assert journal.append("ann", 1, entries, "request-0001") == 2
    assert journal.append("ann", 1, entries, "request-0001") == 0
    assert len(list(journal.events())) == 2


def test_a_transaction_is_stored_completely_or_not_at_all(tmp_path: Path) -> None:
    journal = make(tmp_path / "j")
    with pytest.raises(sqlite3.IntegrityError), journal.write() as connection:
        connection.executemany("INSERT INTO meta VALUES (?, ?)", [("x", "y"), ("x", "z")])
    assert journal.read("SELECT * FROM meta WHERE name = 'x'") == []


def test_the_journal_uses_wal_mode_and_survives_closing(tmp_path: Path) -> None:
    journal = make(tmp_path / "j")
    journal.append("ann", 1, [JournalEntry("k", 1, "grade", "3")], "request-0001")
    assert journal.read("PRAGMA journal_mode")[0][0] == "wal"
    assert journal.read("PRAGMA synchronous")[0][0] == 2
    journal.close()
    assert Journal.open(tmp_path / "j").current_values(1) == {("k", 1, "grade"): "3"}


def test_a_backup_is_one_complete_file_even_while_others_write(tmp_path: Path) -> None:
    journal = make(tmp_path / "j")
    stop = threading.Event()
    counter = iter(range(100_000))

    def write() -> None:
        while not stop.is_set():
            number = next(counter)
            journal.append(
                "ann",
                1,
                [JournalEntry(f"k{number}", 1, "grade", "3"), JournalEntry(f"k{number}", 1, "comment", "c")],
                f"request-{number:05}",
            )

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    while len(list(journal.events())) < 20:
        pass
    journal.backup(tmp_path / "copy")
    stop.set()
    for writer in writers:
        writer.join()
    assert not list(tmp_path.glob("copy*-wal"))
    copied = list(Journal.open(tmp_path / "copy").events())
    # Every transaction has two events: a backup never contains half of one.
    assert len(copied) >= 20
    assert len(copied) % 2 == 0
    assert [event.id for event in copied] == list(range(1, len(copied) + 1))


def test_errors_name_the_file_and_the_fix(tmp_path: Path) -> None:
    with pytest.raises(PorismError) as error:
        Journal.open(tmp_path / "none")
    assert str(error.value) == f"{tmp_path}/none: no such journal\n  fix: porism lab assess create {tmp_path}/none"
    (tmp_path / "other").write_text("hello, this is not a database at all")
    with pytest.raises(PorismError) as error:
        Journal.open(tmp_path / "other")
    fix = "name a file that `porism lab assess create` made, or restore the last backup"
    assert str(error.value) == f"{tmp_path}/other: not a journal of this version, or it is damaged\n  fix: {fix}"
    make(tmp_path / "j")
    with pytest.raises(PorismError) as error:
        Journal.create(tmp_path / "j")
    assert str(error.value) == f"{tmp_path}/j: already exists\n  fix: name another file, or use this journal"
    with pytest.raises(PorismError) as error:
        Journal.open(tmp_path / "j").backup(tmp_path / "j")
    assert str(error.value) == f"{tmp_path}/j: already exists\n  fix: name a new file for each backup"


def test_only_the_owner_can_read_the_journal_and_its_backup(tmp_path: Path) -> None:
    journal = make(tmp_path / "j")
    journal.backup(tmp_path / "copy")
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "j", tmp_path / "copy")] == [0o600, 0o600]


def test_connections_end_with_their_threads(tmp_path: Path) -> None:
    """A server starts and ends many threads in a day."""
    journal = Journal.create(tmp_path / "judging.sqlite")

    def use() -> None:
        journal.read("SELECT 1")
        with journal.write("NORMAL"):
            pass

    def run_threads(number: int) -> int:
        for _ in range(number):
            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
        return len(os.listdir("/proc/self/fd"))

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("this system does not list the open files of a process")
    after_one = run_threads(1)
    assert run_threads(20) <= after_one + 1
    journal.close()


def test_a_damaged_schema_is_reported_as_damage(tmp_path: Path) -> None:
    path = tmp_path / "lab.journal"
    Journal.create(path).close()
    content = path.read_bytes()
    at = content.index(b"CREATE TABLE meta (name")
    path.write_bytes(content[: at + 8] + b"\xe5" + content[at + 9 :])
    with pytest.raises(PorismError, match="or it is damaged"):
        Journal.open(path)
