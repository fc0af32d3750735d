"""One build into one target: the second says so."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from porism.errors import PorismError


class Lock:
    """A lock that ends with the process that holds it, however that ends."""

    def __init__(self, path: Path, target: Path) -> None:
        self._path = path
        self._target = target
        self._handle = -1

    def __enter__(self) -> Lock:
        while True:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._handle)
                fix = "wait for it, or name another target"
                raise PorismError("another build is writing it now", where=str(self._target), fix=fix) from None
            # The one before may have removed the file between our open and our lock: then ours is nobody's.
            with contextlib.suppress(FileNotFoundError):
                if os.fstat(self._handle).st_ino == os.stat(self._path).st_ino:
                    return self
            os.close(self._handle)

    def __exit__(self, *_: object) -> None:
        os.unlink(self._path)
        os.close(self._handle)
