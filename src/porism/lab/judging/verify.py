"""Verify a journal: SQLite's own structures, the write-ahead log, and the checksum of every row."""

from __future__ import annotations

import contextlib
import sqlite3
import struct
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from porism.errors import PorismError
from porism.integrity import Damage, Verification, raise_first
from porism.lab.judging.journal import Journal
from porism.lab.judging.row_checks import CHECKED, damaged_rows
from porism.progress import Progress, Silent

HEADER, FRAME = 32, 24
BYTE_ORDER = {0x377F0682: "<", 0x377F0683: ">"}  # that of the checksums, by magic number
MOST_REPORTED = 20
RESTORE = "stop the server, keep a copy of the file, and restore the last backup (porism lab assess backup made it)"
WAL_RETRY_SECONDS = 0.3  # a server may be writing the log while it is read


def wal_damage(path: Path) -> str:
    """Return what is damaged in a write-ahead log, or "" if every confirmed transaction in it can be read."""
    data = path.read_bytes() if path.is_file() else b""
    if len(data) <= HEADER:
        return ""
    magic, _, page, _, salt1, salt2, *sums = struct.unpack_from(">8I", data)
    order = BYTE_ORDER.get(magic)
    if order is None or _continued((0, 0), data[: HEADER - 8], order) != tuple(sums):
        return "its header is damaged"
    running, size, good = (sums[0], sums[1]), FRAME + page, True
    for number, at in enumerate(range(HEADER, len(data) - size + 1, size), 1):
        _, commit, *salts, first, second = struct.unpack_from(">6I", data, at)
        if good:
            running = _continued(running, data[at : at + 8] + data[at + FRAME : at + size], order)
            good = salts == [salt1, salt2] and running == (first, second)
        # Frames of an earlier use of the file have two other salts: the log ends there.
        if not good and commit and (salts[0] == salt1 or salts[1] == salt2):
            return f"frame {number} or one before it is damaged"
    return ""


def _continued(sums: tuple[int, int], data: bytes, order: str) -> tuple[int, int]:
    """Return SQLite's checksum continued over more data, pair by pair of numbers."""
    first, second = sums
    for word in np.frombuffer(data, f"{order}u4").reshape(-1, 2).tolist():
        first = (first + word[0] + second) & 0xFFFFFFFF
        second = (second + word[1] + first) & 0xFFFFFFFF
    return first, second


def verify_journal(path: Path, progress: Progress | None = None) -> Verification:
    """Read all of a journal, also while a server writes to it."""
    if not path.is_file():
        raise PorismError("no such journal", where=str(path), fix=f"porism lab assess create {path}")
    size = path.stat().st_size
    log = path.with_name(f"{path.name}-wal")
    fact = wal_damage(log)
    if fact:
        time.sleep(WAL_RETRY_SECONDS)
        fact = wal_damage(log)
    if fact:
        fix = f"copy {path} and {log.name} before anything opens them: later judgments in it are lost. Then {RESTORE}"
        return Verification(str(path), "journal", 0, size, (Damage(str(log), fact, fix),), unit="rows")
    rows = 0
    with (progress or Silent()).stage(f"verify {path.name}"), contextlib.closing(Journal.open(path)) as journal:
        damages = tuple(islice(_damages(journal), MOST_REPORTED))
        with contextlib.suppress(sqlite3.DatabaseError):
            rows = sum(journal.count(f"SELECT count(*) FROM {name}") for name in CHECKED)
    return Verification(str(path), "journal", rows, size, damages, unit="rows")


def _damages(journal: Journal) -> Iterator[Damage]:
    connection = sqlite3.connect(journal.path, timeout=30)
    # A damaged text is compared, not refused.
    connection.text_factory = lambda data: data.decode("utf-8", "backslashreplace")
    with contextlib.closing(connection):
        connection.execute("BEGIN")  # one state, also while a server writes
        try:
            for (fact,) in connection.execute("PRAGMA integrity_check"):
                if fact != "ok":
                    yield Damage(str(journal.path), f"is damaged: {fact}", RESTORE)
            for row, fact in damaged_rows(connection):
                yield Damage(f"{journal.path}: {row.name} {row.key.strip('[]')}", fact, RESTORE)
        except sqlite3.DatabaseError as error:
            yield Damage(str(journal.path), f"is damaged: {error}", RESTORE)


def check_journal(path: Path) -> None:
    """Refuse a damaged journal: the first damaged row is the error."""
    raise_first(verify_journal(path).damages)
