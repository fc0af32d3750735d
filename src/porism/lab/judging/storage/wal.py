"""Check a write-ahead log of SQLite. SQLite silently ignores everything after a damaged frame, also what it had confirmed.

The format is that of https://sqlite.org/fileformat2.html#the_write_ahead_log: a header of 32 bytes, then frames of 24 bytes and a page.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np

HEADER, FRAME = 32, 24
LITTLE, BIG = 0x377F0682, 0x377F0683  # the two magic numbers: the byte order of the checksums


class _Sums(NamedTuple):
    first: int
    second: int


def wal_damage(path: Path) -> str:
    """Return what is damaged in a write-ahead log, or "" if every confirmed transaction in it can be read."""
    data = path.read_bytes() if path.is_file() else b""
    if len(data) <= HEADER:
        return ""
    magic, _, page, _, salt1, salt2, *sums = struct.unpack_from(">8I", data)
    order = {LITTLE: "<", BIG: ">"}.get(magic)
    if order is None or _continued(_Sums(0, 0), data[: HEADER - 8], order) != tuple(sums):
        return "its header is damaged"
    running, size, good = _Sums(*sums), FRAME + page, True
    for number, at in enumerate(range(HEADER, len(data) - size + 1, size), 1):
        _, commit, *salts, first, second = struct.unpack_from(">6I", data, at)
        if good:
            running = _continued(running, data[at : at + 8] + data[at + FRAME : at + size], order)
            good = salts == [salt1, salt2] and running == (first, second)
        # Frames of an earlier use of the file have two other salts: the log ends there.
        if not good and commit and (salts[0] == salt1 or salts[1] == salt2):
            return f"frame {number} or one before it is damaged"
    return ""


def _continued(sums: _Sums, data: bytes, order: str) -> _Sums:
    """Return SQLite's checksum continued over more data: pairs of numbers, each added to its own sum together with the other sum."""
    first, second = sums
    for word in np.frombuffer(data, f"{order}u4").reshape(-1, 2).tolist():
        first = (first + word[0] + second) & 0xFFFFFFFF
        second = (second + word[1] + first) & 0xFFFFFFFF
    return _Sums(first, second)
