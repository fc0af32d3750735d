"""Whether a silent process is frozen: judged by its state and its processor time, not by the clock alone.

On an overloaded machine a healthy process may be silent for seconds, because it gets no processor. A frozen one is stopped, or it computes
while nothing else of it can run, or it waits for something that does not come. Only the last case needs patience.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

STOPPED_LOOKS = 4  # in succession that find a process stopped. After Ctrl-Z and fg, a first look may come before the process runs again
BUSY_SECONDS = 0.8  # of silence and of processor time: some computation holds the interpreter's lock
START_FACTOR = 3  # a process that starts may be silent for longer: it reads files and compiles
STARVED_FACTOR = 6  # and so may one that waits for a processor
STOPPED = "T"


class Usage(NamedTuple):
    """The state of a process as the kernel names it, and the seconds of processor time that it has used."""

    state: str
    processor: float


def usage_of(pid: int) -> Usage | None:
    """Return what a process uses; None where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        return Usage(fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    except (OSError, IndexError, ValueError):
        return None


def queued_seconds(pid: int) -> float:
    """Return how long the threads of a process have waited for a processor, all together; 0 where the system does not say."""
    try:
        files = [Path(entry.path, "schedstat") for entry in os.scandir(f"/proc/{pid}/task")]
        return sum(int(file.read_text("ascii").split()[1]) for file in files) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


@dataclass(slots=True)
class Limits:
    """How long a process may be silent: `frozen` seconds, and while it computes `busy` seconds of processor time."""

    frozen: float
    busy: float = BUSY_SECONDS


@dataclass(slots=True)
class Pulse:
    """The silence of a process, and what it did meanwhile."""

    pid: int
    silent: float = 0.0
    _processor: float | None = None  # at the last sign of life
    _stopped: int = 0  # looks in succession
    _patience: tuple[float, float] | None = None  # silence and time in the queue, when the process became suspect

    def beat(self) -> None:
        """Note a sign of life."""
        self.silent, self._processor, self._patience = 0.0, None, None

    def look(self, limits: Limits, starting: bool = False) -> str:
        """Return why the process is frozen, or nothing if it is not."""
        usage = usage_of(self.pid)
        if usage is not None:
            if self._processor is None:
                self._processor = usage.processor
            self._stopped = self._stopped + 1 if usage.state == STOPPED else 0
            if self._stopped >= STOPPED_LOOKS:
                return "is stopped"
            used = usage.processor - self._processor
            if not starting and self.silent >= limits.busy and used >= limits.busy:
                return f"gives no sign of life for {self.silent:.1f} s, in which it computed for {used:.1f} s,"
        if self.silent >= BUSY_SECONDS and self._patience is None:
            self._patience = self.silent, queued_seconds(self.pid)
        if self.silent > limits.frozen * (START_FACTOR if starting else 1) and not self._is_starved(limits):
            return f"gives no sign of life for {self.silent:.1f} s"
        return ""

    def _is_starved(self, limits: Limits) -> bool:
        """Return whether the process spent most of its silence waiting for a processor. After a long time that does not count any more."""
        if self._patience is None or self.silent > limits.frozen * STARVED_FACTOR:
            return False
        silent, queued = self._patience
        return 2 * (queued_seconds(self.pid) - queued) > self.silent - silent > 0
