"""A command watched while it runs: what it takes of time and memory."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

PATIENCE = 0.5
# What is counted of memory: pages of files mapped into it too, or what processes hold for themselves (the system takes the others back
# when it needs them). Pages that processes share count once.
ALL, OWN = "Pss:", "Pss_Anon:"


def watch(command: Sequence[str], kind: str = OWN) -> tuple[float, float, float]:
    """Seconds, processor seconds and the most memory (MB, all its processes together) that a command takes."""
    before, start, peak = _processor(), time.perf_counter(), 0.0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, memory(process.pid, kind))
            time.sleep(PATIENCE)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed with {process.returncode}")
    return time.perf_counter() - start, _processor() - before, peak


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory(pid: int, kind: str = OWN) -> float:
    """MB of a process and its children."""
    total = 0
    for one in processes(pid):
        try:
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith(kind))
    return total / 1000


def processes(pid: int) -> list[int]:
    """A process and its children."""
    try:
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    except OSError:
        return [pid]
