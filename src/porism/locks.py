"""One writer at a time: a lock file beside a target that names the process holding it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from porism.errors import PorismError

try:
    import fcntl
except ImportError:  # a system without file locks, such as Windows
    fcntl = None  # type: ignore[assignment]

PAUSE = 0.1  # seconds between two attempts of a process that waits for a lock


class Locked(Exception):
    """Another process holds the lock; `process` is its id, or "" where that is not known."""

    def __init__(self, process: str) -> None:
        super().__init__(process)
        self.process = process


class BusyError(PorismError):
    """Another process writes the target now."""


def require_posix(what: str) -> None:
    """Refuse what needs file locks and limits of processes where the system has none. Searching needs neither."""
    if fcntl is None:
        fact = f"{what} needs file locks and limits of processes, which this system does not have"
        raise PorismError(fact, fix="use Linux, macOS or the Windows Subsystem for Linux")


def lock(handle: int | IO[bytes], *, wait: bool = False) -> None:
    """Lock an open file until it is closed. If another process holds the lock, wait, or raise BlockingIOError.

    Where the system has no such locks, nothing keeps two writers of a target apart."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold the lock file at `path`, or raise `Locked` at once. The lock ends with the process, however that ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = _acquire(path)
    try:
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        # Under the lock: a process that has opened this file notices that it is gone, and tries again.
        path.unlink(missing_ok=True)
        os.close(handle)


def _acquire(path: Path) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            lock(handle)
        except BlockingIOError:
            process = os.read(handle, 20).decode("ascii", "replace")
            os.close(handle)
            raise Locked(process) from None
        if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
            return handle
        os.close(handle)


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file. Nothing is created or changed."""
    try:
        with open(path, "rb") as stream:
            lock(stream)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def lock_of(target: Path) -> Path:
    """Return the lock file of a target."""
    return target.parent / f".{target.name}.writing"


@contextmanager
def only_writer(target: Path, *, wait: float = 0.0) -> Iterator[None]:
    """Be the only process that writes `target`; a second one waits up to `wait` seconds, then is refused with the id of
    the first."""
    end = time.monotonic() + wait
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(lock_file(lock_of(target)))
                break
            except Locked as error:
                if time.monotonic() >= end:
                    process = f"process {error.process}" if error.process else "another process"
                    fix = "wait for it, or name another target"
                    raise BusyError(f"{process} is writing it now", where=str(target), fix=fix) from None
                time.sleep(PAUSE)
        yield
