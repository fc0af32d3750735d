"""A lock on the target of a build: a second build into the same target is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from porism.errors import PorismError


@contextmanager
def locked(path: Path, target: Path) -> Iterator[None]:
    """Hold the lock file at `path` while a build writes `target`. The lock ends with the process, however that ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=0)
    try:
        with lock:
            try:
                yield
            finally:
                # Under the lock: a build that has opened this file notices that it is gone, and tries again.
                path.unlink(missing_ok=True)
    except Timeout:
        fix = "wait for it, or name another target"
        raise PorismError("another build is writing it now", where=str(target), fix=fix) from None
