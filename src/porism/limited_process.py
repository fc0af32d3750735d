"""A process that answers questions one after another, within limits of processor time and memory. A question that takes
more ends it.

Libraries that read what others wrote promise no bounds, and many hold the interpreter's lock while they work, so that
neither a time limit nor a signal could stop them in this process. The other one is started with the first question;
after its end the next question starts another.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from porism.safe_path import safe_environment, safe_path

try:
    import resource
except ImportError:  # a system without limits of processes, such as Windows
    resource = None  # type: ignore[assignment]

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from importlib import import_module; "
    "import_module(sys.argv[2]).serve()"
)


class Ended(Exception):
    """The process ended before it answered, with this code, or was stopped because it took too long (-SIGKILL)."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class LimitedProcess:
    """The process that runs the function `serve` of a module, which calls `answer_questions`."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._limits: dict[str, str] = {}

    def ask(self, question: object, seconds: float, wait: float) -> Any:
        """Return the answer, which may take these seconds of processor time, and of the clock as many as `wait`. Raise
        Ended if it takes more, or if the system has no such limits: then nothing is tried."""
        if resource is None:
            raise Ended(0)
        with self._lock:
            child = self._running()
            assert child.stdin is not None
            assert child.stdout is not None
            try:
                with contextlib.suppress(OSError):
                    child.stdin.write(json.dumps([seconds, question]).encode() + b"\n")
                    child.stdin.flush()
                answer = _line(child.stdout, time.monotonic() + wait)
            except BaseException:  # the time of the caller is over; the next answer must not be that to this question
                self.stop()
                raise
            if not answer:
                raise Ended(self.stop())
        return json.loads(answer)

    def _running(self) -> subprocess.Popen[bytes]:
        limits = {name: value for name, value in os.environ.items() if name.startswith("PORISM_")}
        if self._child is not None and limits != self._limits:
            self.stop()
        if self._child is None or self._owner != os.getpid() or self._child.poll() is not None:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-c", START, json.dumps(safe_path()), self._module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=safe_environment(),
            )
            self._owner, self._limits = os.getpid(), limits  # after a fork, the parent's process belongs to the parent
        return self._child

    def stop(self) -> int:
        """End the process; return how it ended."""
        child, self._child = self._child, None
        if child is None or self._owner != os.getpid():
            return 0
        if child.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(0.1)  # it may be ending by itself
        child.kill()
        child.communicate()
        return child.returncode


def _line(stream: IO[bytes], deadline: float) -> bytes:
    """Read a line; empty if the process ends or the deadline passes first."""
    received: list[bytes] = []
    while not (received and received[-1].endswith(b"\n")):
        ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
        part = os.read(stream.fileno(), 1 << 20) if ready else b""
        if not part:
            return b""
        received.append(part)
    return b"".join(received)


def answer_questions(answer: Callable[[Any], object], memory_bytes: int) -> None:
    """Answer what comes on standard input until it is closed. The work of the process."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        seconds, question = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process, whatever holds the interpreter
        found = json.dumps(answer(question))
        signal.setitimer(signal.ITIMER_PROF, 0)
        with contextlib.suppress(BrokenPipeError):
            print(found, flush=True)
