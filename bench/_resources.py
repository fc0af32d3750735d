"""Measure the time and the memory that a command takes."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

INTERVAL = 0.5  # seconds between two looks at the memory
# Which memory counts: all of it, with the pages of mapped files, or only what processes allocated themselves (the
# system can drop the pages of files when it needs memory). Pages that processes share count once.
ALL, OWN = "Pss:", "Pss_Anon:"


class Used(NamedTuple):
    """What a command took: seconds, processor seconds, and the peak of memory in MB, all its processes together."""

    seconds: float
    processor_seconds: float
    peak_memory: float


def run_measured(command: Sequence[str], memory_kind: str = OWN) -> Used:
    """Run a command and measure it."""
    before, start, peak = _processor_seconds(), time.perf_counter(), 0.0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, memory(process.pid, memory_kind))
            time.sleep(INTERVAL)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed with {process.returncode}")
    return Used(time.perf_counter() - start, _processor_seconds() - before, peak)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory(pid: int, memory_kind: str = OWN) -> float:
    """Return the MB of a process and its children."""
    total = 0
    for process in processes(pid):
        try:
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith(memory_kind))
    return total / 1000


def processes(pid: int) -> list[int]:
    """Return a process and its children."""
    try:
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    except OSError:
        return [pid]
