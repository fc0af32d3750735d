"""A changed byte in a stored row of a journal is found."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from porism.integrity import DamageError
from porism.lab.judging.journal import Journal, JournalEntry
from porism.lab.judging.people import add_account
from porism.lab.judging.row_checks import CHECKED
from porism.lab.judging.verify import check_journal, verify_journal, wal_damage

VALUE = "a judgment that must not change"


def make(path: Path, events: int = 40) -> Path:
    with closing(Journal.create(path)) as journal:
        with journal.write() as connection:
            connection.execute(
                "INSERT INTO assignment (assessor, task, topic, purpose) VALUES ('ada', 1, 'A.1', 'main')"
            )
        for number in range(events):
            entry = JournalEntry(f"item{number}", 1, "comment", f"{VALUE} {number}")
            assert journal.append("ada", 1, [entry], f"request{number:04}") == 1
            assert journal.append("ada", 1, [entry], f"request{number:04}") == 0, "a repeated request is stored once"
    return path


def test_an_intact_journal(tmp_path: Path) -> None:
    found = verify_journal(make(tmp_path / "j"))
    assert not found.damages
    assert found.files == 43


def test_every_changed_byte_of_a_stored_row_is_found(tmp_path: Path) -> None:
    path = make(tmp_path / "j")
    data = path.read_bytes()
    places = [at for at in range(len(data)) if data.startswith(VALUE.encode(), at)]
    assert len(places) >= 40
    chosen = random.Random(5)
    for start in places:
        at = start + chosen.randrange(len(VALUE))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << chosen.randrange(8)]) + data[at + 1 :])
        found = verify_journal(path)
        assert found.damages, at
        assert any("event" in damage.part for damage in found.damages)
        with pytest.raises(DamageError):
            check_journal(path)
    path.write_bytes(data)
    check_journal(path)


def test_changes_and_deletions_keep_the_checksums_right(tmp_path: Path) -> None:
    path = make(tmp_path / "j", 1)
    with closing(Journal.open(path)) as journal:
        add_account(journal, "ada", "assessor", "a long password")
        add_account(journal, "ada", "organiser", "another password")
        with journal.write() as connection:
            connection.execute("DELETE FROM assignment")
    assert not verify_journal(path).damages


def test_a_lost_row_is_found(tmp_path: Path) -> None:
    path = make(tmp_path / "j", 3)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for name in ("event_no_delete", "check_event_DELETE"):
            database.execute(f"DROP TRIGGER {name}")
        database.execute("DELETE FROM event WHERE id = 2")
    (damage,) = verify_journal(path).damages
    assert (damage.part, damage.fact) == (f"{path}: event 2", "is missing")


def test_a_journal_of_the_earlier_format_gets_checksums(tmp_path: Path) -> None:
    path = make(tmp_path / "j", 3)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for name in CHECKED:
            for action in ("INSERT", "UPDATE", "DELETE"):
                database.execute(f"DROP TRIGGER check_{name}_{action}")
        database.execute("DROP TABLE unchecked")
        database.execute("DROP TABLE row_check")
        database.execute("UPDATE meta SET value = '2' WHERE name = 'format'")
    with closing(Journal.open(path)) as journal:
        assert len(list(journal.events())) == 3
        assert journal.append("ada", 1, [JournalEntry("item9", 1, "grade", "2")], "request9999") == 1
    found = verify_journal(path)
    assert not found.damages
    assert found.files == 3 + 1 + 2 + 1


def test_damage_in_the_write_ahead_log_is_found_before_anything_opens_it(tmp_path: Path) -> None:
    journal = Journal.open(make(tmp_path / "j", 2))
    journal.append("ada", 1, [JournalEntry("item7", 1, "grade", "2")], "request0007")
    journal.append("ada", 1, [JournalEntry("item8", 1, "grade", "2")], "request0008")
    data = (tmp_path / "j-wal").read_bytes()
    copy = tmp_path / "copy-wal"
    copy.write_bytes(data)
    assert wal_damage(copy) == ""
    chosen = random.Random(2)
    used = len(data)
    for _ in range(60):
        at = chosen.randrange(used)
        copy.write_bytes(data[:at] + bytes([data[at] ^ 1 << chosen.randrange(8)]) + data[at + 1 :])
        assert wal_damage(copy), at
    for size in (0, 10, 32, len(data) - 5):
        copy.write_bytes(data[:size])
        assert wal_damage(copy) == "", "an unfinished frame at the end was never confirmed"
    journal.close()
