"""The change log: what is acknowledged stays, what is torn goes, what is damaged is reported."""

from __future__ import annotations

import errno
import multiprocessing
import os
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.store import change_log
from porism.store.change_log import ChangeLog, LogFullError, LogWriteError
from porism.store.embedded.manifest import LogPosition


def numbers(log: ChangeLog, after: int = 0) -> list[int]:
    return [record.sequence for record in log.read(after)]


def test_records_are_numbered_and_read_in_order(tmp_path: Path) -> None:
    log, other = ChangeLog(tmp_path / "log"), ChangeLog(tmp_path / "log")
    assert [log.append([{"delete": 1}]), other.append([{"delete": 2}, {"delete": 3}]), log.append([])] == [1, 2, 3]
    assert [record.changes for record in log.read(1)] == [({"delete": 2}, {"delete": 3}), ()]
    assert other.state() == log.state()
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def append_many(path: Path) -> None:
    log = ChangeLog(path)
    for number in range(40):
        log.append([{"delete": number}])


def test_several_processes_append(tmp_path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=append_many, args=(tmp_path / "log",)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert numbers(ChangeLog(tmp_path / "log")) == list(range(1, 121))


def test_applied_records_are_removed_and_numbers_go_on(tmp_path: Path) -> None:
    log, other = ChangeLog(tmp_path / "log"), ChangeLog(tmp_path / "log")
    for number in range(4):
        log.append([{"delete": number}])
    assert not log.trim(2, least=10**6)
    assert log.trim(2)
    assert not log.trim(2)
    assert numbers(other) == [3, 4]
    assert other.append([]) == 5
    assert log.trim(5, least=10**6)  # nothing is left, so the size does not matter
    assert numbers(log) == []
    assert (log.append([]), other.append([])) == (6, 7)
    assert ChangeLog(tmp_path / "log").state()._replace(log="", size=0) == ("", 5, 7, 0)


@pytest.mark.parametrize("torn", [b"1", b"0123456789abcdef 3 [", b"\0\0\0"])
def test_a_torn_record_is_removed(tmp_path: Path, torn: bytes) -> None:
    log = ChangeLog(tmp_path / "log")
    log.append([{"delete": 1}])
    log.append([{"delete": 2}])
    with open(tmp_path / "log", "ab") as stream:
        stream.write(torn)
    assert numbers(log) == [1, 2]
    assert ChangeLog(tmp_path / "log").append([{"delete": 3}]) == 3
    assert [record.changes for record in log.read(2)] == [({"delete": 3},)]


def test_every_prefix_of_the_file_is_a_log(tmp_path: Path) -> None:
    """A process may die after any byte: whole records stay, and the log takes new ones."""
    log = ChangeLog(tmp_path / "log")
    ends = [log.state().size]
    for number in range(3):
        log.append([{"id": number, "body": "x" * number}])
        ends.append(log.state().size)
    data = (tmp_path / "log").read_bytes()
    for size in range(ends[0], len(data) + 1):
        (tmp_path / "torn").write_bytes(data[:size])
        whole = sum(end <= size + 1 for end in ends[1:])  # a line that lacks only its end is whole
        cut = ChangeLog(tmp_path / "torn")
        assert cut.append([{"delete": 7}]) == whole + 1
        assert numbers(cut) == list(range(1, whole + 2))


@pytest.mark.parametrize("at", [5, 30])
def test_a_damaged_record_is_reported_and_the_others_stay(tmp_path: Path, at: int) -> None:
    log = ChangeLog(tmp_path / "log")
    header = log.state().size
    for number in range(3):
        log.append([{"delete": number}])
    data = bytearray((tmp_path / "log").read_bytes())
    second = data.index(b"\n", header) + 1
    data[second + at] ^= 1
    (tmp_path / "log").write_bytes(data)
    records = list(ChangeLog(tmp_path / "log").read(0))
    assert [record.sequence for record in records] == [1, 2, 3]
    assert [bool(record.damaged) for record in records] == [False, True, False]


def test_a_lost_line_end_costs_two_records_and_no_number(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "log")
    header = log.state().size
    for number in range(4):
        log.append([{"delete": number}])
    data = bytearray((tmp_path / "log").read_bytes())
    data[data.index(b"\n", header)] = 0
    (tmp_path / "log").write_bytes(data)
    records = list(ChangeLog(tmp_path / "log").read(0))
    assert [(record.sequence, bool(record.damaged)) for record in records] == [(1, True), (3, False), (4, False)]
    assert ChangeLog(tmp_path / "log").append([]) == 5


def test_a_lost_end_of_the_last_line_is_put_back(tmp_path: Path) -> None:
    """Nothing tells a damaged line end from a torn record but the checksum: an acknowledged change must not be
    removed."""
    for end in (b"\x0b", b""):
        log = ChangeLog(tmp_path / f"log{len(end)}")
        for number in range(2):
            log.append([{"delete": number}])
        data = log.path.read_bytes()
        log.path.write_bytes(data[:-1] + end)
        assert numbers(log) == [1, 2]  # also for a process that reads without the lock
        again = ChangeLog(log.path)
        assert log.path.read_bytes() == data
        assert again.append([{"delete": 7}]) == 3
        assert [record.changes[0]["delete"] for record in again.read(0)] == [0, 1, 7]


def test_a_line_end_inside_a_record_takes_no_number_of_a_later_one(tmp_path: Path) -> None:
    """The applier stores the number of what it has read. The next change must have a higher one, whichever process
    appends it."""
    server = ChangeLog(tmp_path / "log")
    server.append([{"delete": 1}])
    data = bytearray(server.path.read_bytes())
    data[-5] = ord("\n")
    server.path.write_bytes(data)
    applied = list(ChangeLog(tmp_path / "log").read(0))
    assert [(record.sequence, bool(record.damaged)) for record in applied] == [(1, True), (1, True)]
    assert server.append([{"delete": 2}]) > applied[-1].sequence


def test_a_log_that_was_cut_is_refused_by_processes_that_know_more_of_it(tmp_path: Path) -> None:
    server = ChangeLog(tmp_path / "log")
    for number in range(3):
        server.append([{"delete": number}])
    os.truncate(server.path, server.state().size - 40)
    for call in (server.state, lambda: server.append([{"delete": 9}])):
        with pytest.raises(PorismError) as error:
            call()
        assert error.value.message == "has 40 bytes less than before: changes are missing"
        assert "send the changes that it holds again" in error.value.fix


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("something else\n")
    with pytest.raises(PorismError, match="not a change log"):
        ChangeLog(tmp_path / "log")


def test_a_full_disk_accepts_nothing_and_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = ChangeLog(tmp_path / "log")
    log.append([{"delete": 1}])
    before = (tmp_path / "log").read_bytes()
    write = os.pwrite

    def write_half(handle: int, data: bytes, offset: int) -> int:
        if len(data) < 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data[: len(data) // 2], offset)

    monkeypatch.setattr(change_log.os, "pwrite", write_half)
    with pytest.raises(LogWriteError, match="No space left"):
        log.append([{"delete": 2}])
    monkeypatch.undo()
    assert (tmp_path / "log").read_bytes() == before
    assert log.append([{"delete": 2}]) == 2


def test_too_many_waiting_changes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_log, "MOST_WAITING", 100)
    log = ChangeLog(tmp_path / "log")
    log.append([{"id": 1, "body": "x" * 100}])
    with pytest.raises(LogFullError):
        log.append([{"delete": 1}])


def test_an_index_that_is_ahead_of_its_log_moves_it_forward(tmp_path: Path) -> None:
    """Otherwise new records would have numbers that the index takes as applied."""
    log = ChangeLog(tmp_path / "log")
    log.append([])
    own = log.state().log
    assert ChangeLog(tmp_path / "log", LogPosition(own, 40)).append([]) == 41
    assert ChangeLog(tmp_path / "log", LogPosition("another", 90)).append([]) == 42
    assert ChangeLog(tmp_path / "log").state().waiting(LogPosition("another", 90)) == 2
