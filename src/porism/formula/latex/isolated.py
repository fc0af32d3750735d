"""Convert a formula in another process, which is killed when it takes too long.

The converters are libraries: math-core holds the interpreter's lock while it works, so neither a time limit nor a signal could stop it
here. A few converter processes with limits on processor time and memory take the formulas that may cost too much; one that dies is
replaced. They start when they are first needed and end with the process that uses them.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import resource
import select
import signal
import subprocess
import sys
import time
from typing import NamedTuple

from porism.deadline import remaining
from porism.safe_path import safe_environment, safe_path

PROCESSES = 2
CPU_SECONDS = 0.5  # for each formula
WAIT_SECONDS = 8.0  # of the clock, for a free process and its answer
MEMORY_BYTES = 2**30
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from porism.formula.latex import isolated; isolated.serve()"


class Task(NamedTuple):
    """A formula to convert, and the converter: `math-core` (with unknown commands as names if `lenient`) or `latex2mathml`."""

    converter: str
    latex: str
    lenient: bool = False


class TooExpensive(Exception):
    """The conversion took too much processor time or memory."""


class Refused(Exception):
    """The converter does not accept the formula; the message is the converter's."""


class _Process:
    """A converter process, started when it is first used."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def convert(self, task: Task) -> str:
        """Return the MathML, or raise Refused or TooExpensive."""
        child = self._running()
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(json.dumps(task).encode() + b"\n")
            child.stdin.flush()
            answer = _read_line(child.stdout.fileno(), time.monotonic() + _waiting())
        except OSError:
            answer = b""
        except BaseException:  # the time of the caller is over; its answer must not be that to the next task
            self.stop()
            raise
        if not answer:
            self.stop()
            raise TooExpensive(f"the conversion takes more than {CPU_SECONDS} seconds of processor time")
        status, text = json.loads(answer)
        if status != "mathml":
            raise Refused(text)
        return str(text)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._owner != os.getpid() or self._child.poll() is not None:
            command = [sys.executable, "-P", "-c", _START, json.dumps(safe_path())]
            pipe = subprocess.PIPE
            self._child = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=safe_environment()
            )
            self._owner = os.getpid()  # after a fork, the parent's processes belong to the parent
        return self._child

    def stop(self) -> None:
        """Kill the process."""
        if self._child is not None and self._owner == os.getpid():
            self._child.kill()
            self._child.communicate()
        self._child = None


def _read_line(file: int, deadline: float) -> bytes:
    """Read a line; empty if the process dies or the deadline passes first."""
    received = bytearray()
    while not received.endswith(b"\n"):
        ready, _, _ = select.select([file], [], [], max(0.0, deadline - time.monotonic()))
        part = os.read(file, 65536) if ready else b""
        if not part:
            return b""
        received += part
    return bytes(received)


_free: queue.SimpleQueue[_Process] = queue.SimpleQueue()
_all = [_Process() for _ in range(PROCESSES)]
for _process in _all:
    _free.put(_process)


@atexit.register
def _stop_all() -> None:
    for process in _all:
        process.stop()


def _waiting() -> float:
    """Return how many seconds to wait: no longer than the time limit of the computation."""
    return max(0.0, min(WAIT_SECONDS, remaining()))


def convert_isolated(task: Task) -> str:
    """Return the MathML of a formula, or raise Refused or TooExpensive."""
    try:
        process = _free.get(timeout=_waiting())
    except queue.Empty:
        raise TooExpensive("all converter processes are busy with expensive formulas") from None
    try:
        return process.convert(task)
    finally:
        _free.put(process)


def serve() -> None:
    """Convert what comes on standard input, a task on each line, until it is closed. The work of a converter process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        task = Task(*json.loads(line))
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)  # its signal ends the process, whatever holds the interpreter
        try:
            answer = ["mathml", _convert(task)]
        except Exception as error:
            answer = ["refused", str(error)]
        signal.setitimer(signal.ITIMER_PROF, 0)
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(answer), flush=True)


def _convert(task: Task) -> str:
    if task.converter == "latex2mathml":
        from latex2mathml.converter import convert

        return str(convert(task.latex))
    from porism.formula.latex.convert import math_core

    return str(math_core(task.lenient)(task.latex, displaystyle=False))
