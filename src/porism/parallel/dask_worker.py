"""The side of a Dask worker: a task comes as bytes, and its result goes as bytes.

The thread of the worker that got a task leaves it to a process of its own. Time limits interrupt only the main thread
of a process; tasks in several threads would wait for each other; and a process that dies, for lack of memory, takes
nothing else with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from typing import IO, Any

from porism import __version__
from porism.errors import PorismError
from porism.hashing import fingerprint
from porism.parallel.processes import THREAD_LIMITS, prepare_worker, run_in_worker
from porism.safe_path import safe_environment, safe_path

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from porism.parallel.dask_worker import serve; serve()"
)
IDLE_SECONDS = 60.0  # after which a process without tasks ends
ATTEMPTS = 3  # to do a task whose process dies
SIZE = 8  # bytes before a message, which say how long it is

# What must be the same on all machines, so that they make the same bytes.
CODE = ("analysis", "corpus", "formula", "hashing", "parallel", "store", "text")
LIBRARIES = ("distributed", "latex2mathml", "lxml", "math-core", "nh3", "numpy", "PyStemmer", "xxhash")
Versions = dict[str, str]


@lru_cache(1)
def versions() -> Versions:
    """Return the versions of what shapes the results of tasks, and the fingerprint of Porism's own code."""
    python = ".".join(map(str, sys.version_info[:2]))
    code = fingerprint(tuple(f"porism.{name}" for name in CODE))
    return {
        "Porism": __version__,
        "Python": python,
        **{one: version(one) for one in LIBRARIES},
        "the code of Porism": code,
    }


def differences(found: Versions, wanted: Versions) -> str:
    """Return what differs, in words; empty if nothing does."""
    unequal = [name for name, value in wanted.items() if found.get(name) != value]
    return ", ".join(f"{name} {found.get(name, '')[:12]} and not {wanted[name][:12]}" for name in unequal)


def run_task(request: bytes, wanted: Versions) -> bytes:
    """Do a task, a pickled pair of function and argument; return a pickled pair: whether it succeeded, and its result
    or error."""
    if different := differences(versions(), wanted):
        return _failure(PorismError(f"has {different}", where=f"worker on {socket.gethostname()}", fix=SAME_VERSIONS))
    for _ in range(ATTEMPTS):
        with contextlib.suppress(OSError, EOFError):
            return _process().answer(request)
    fact = f"worker processes died {ATTEMPTS} times with the same task"
    return _failure(PorismError(fact, where=f"worker on {socket.gethostname()}", fix="give the workers more memory"))


SAME_VERSIONS = "install the same versions on all machines, and start the scheduler and the workers again"


def _failure(error: Exception) -> bytes:
    """Return an error that certainly arrives, with where in Porism it was raised."""
    if not isinstance(error, PorismError):
        error.add_note("".join(traceback.format_exception(error)))
    try:
        message = pickle.dumps((False, error))
        pickle.loads(message)
    except Exception:
        message = pickle.dumps((False, RuntimeError("".join(traceback.format_exception(error)))))
    return message


class _Process:
    """A process that does the tasks of a thread."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-c", START, json.dumps(safe_path())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=safe_environment(),
        )

    @property
    def is_running(self) -> bool:
        """Whether it can take a task."""
        return self._child.poll() is None

    def answer(self, request: bytes) -> bytes:
        """Return what the process answers; an OSError or EOFError means that it died."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            _write(self._child.stdin, request)
            return _read(self._child.stdout)
        except BaseException:
            self._child.kill()
            self._child.communicate()
            raise


_own = threading.local()


def _process() -> _Process:
    """Return the process of this thread."""
    process: _Process | None = getattr(_own, "process", None)
    if process is None or not process.is_running:
        process = _own.process = _Process()
    return process


def _write(stream: IO[bytes], message: bytes) -> None:
    stream.write(len(message).to_bytes(SIZE, "big"))
    stream.write(message)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes:
    size = int.from_bytes(_exactly(stream, SIZE), "big")
    return _exactly(stream, size)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found


def serve() -> None:
    """Do tasks until the worker ends or has none for a while. The work of the process."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    os.environ.update(dict.fromkeys(THREAD_LIMITS, "1"))  # there are as many processes as cores
    prepare_worker()
    requests = sys.stdin.buffer
    with contextlib.suppress(EOFError, BrokenPipeError):
        while select.select([requests], [], [], IDLE_SECONDS)[0]:
            _write(answers, _done(_read(requests)))


def _done(request: bytes) -> bytes:
    try:
        function: Callable[[Any], Any]
        function, task = pickle.loads(request)
        return pickle.dumps((True, run_in_worker(function, task)), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return _failure(error)
