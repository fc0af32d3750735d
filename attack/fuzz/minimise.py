"""Make an input that shows a fault shorter while it shows the same fault. Each try runs in a process of its own."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from attack.fuzz.pool import run
from attack.fuzz.reader import Reader
from attack.fuzz.worker import Block, Finding

SECONDS = 40.0  # for one finding


def faults_of(reader: Reader, data: bytes) -> list[Finding]:
    """Read one input in a process of its own; return what goes wrong."""
    alone = Reader(
        reader.name, 0, reader.read, seeds=lambda: (data,), start=reader.start, cpu_seconds=reader.cpu_seconds
    )
    with tempfile.TemporaryDirectory(prefix="porism-fuzz-") as folder:
        block = Block(reader.name, "", 1, alone=True)
        return run({reader.name: alone}, [block], 1, Path(folder))[reader.name].examples


def minimise(reader: Reader, finding: Finding) -> Finding:
    """Return a shorter input with the same fault, as short as can be found in the time."""
    deadline = time.monotonic() + SECONDS
    best = finding
    size = max(1, len(best.data) // 2)
    while size >= 1 and time.monotonic() < deadline:
        at, shorter = 0, False
        while at < len(best.data) and time.monotonic() < deadline:
            tried = best.data[:at] + best.data[at + size :]
            same = [one for one in faults_of(reader, tried) if one.kind == best.kind and one.place == best.place]
            if same:
                best, shorter = same[0], True
            else:
                at += size
        size = size // 2 if not shorter or size > len(best.data) else size
    return best
