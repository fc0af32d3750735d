"""Never serve damaged files: verify an index in the background, report the result, and refuse requests once damage is
found."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import sys
import tempfile
import threading
from dataclasses import astuple
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from porism.integrity import Damage, DamageError, StoredFile, damaged_files, raise_first
from porism.store import open_store
from porism.store.protocols import Store

LOG = logging.getLogger("porism.web")
# An index of at most this size is verified before it is served, which takes less than a second; a larger one while it
# is served.
SMALL_BYTES = 200_000_000
# Paths that answer also when the index is damaged.
ALWAYS = ("/ready", "/health", "/v1/health", "/metrics", "/static/")


def _damages_of(index: Path) -> tuple[Damage, ...]:
    return tuple(damage for one in open_store(index).verify() for damage in one.damages)


class SharedVerification:
    """Lets the processes of a server verify an index once: the first one reads the files, the others wait and take its
    result.

    Create it before the processes are forked. If the process that verifies dies, the next one begins again.
    """

    def __init__(self) -> None:
        # In memory where the system can, since a hardened server may have no folder to write to.
        self._file = os.memfd_create("verified") if sys.platform == "linux" else _temporary_file()

    def forget(self) -> None:
        """Let the next process verify again, for instance because one has died of what it read."""
        os.ftruncate(self._file, 0)

    def damages(self, index: Path) -> tuple[Damage, ...]:
        """Return what is damaged in an index, as any process found it."""
        file = self._file
        fcntl.lockf(
            file, fcntl.LOCK_EX
        )  # unlike flock, it excludes forked processes, and ends with the one that holds it
        try:
            if known := os.pread(file, os.fstat(file).st_size, 0):
                return tuple(Damage(*fields) for fields in json.loads(known))
            found = _damages_of(index)
            os.pwrite(file, json.dumps([astuple(damage) for damage in found]).encode(), 0)
            return found
        finally:
            fcntl.lockf(file, fcntl.LOCK_UN)


def _temporary_file() -> int:
    file, name = tempfile.mkstemp()
    os.unlink(name)
    return file


class IntegrityCheck:
    """The state of an index's files: `verified` once all were read, `damages` as soon as one is found."""

    def __init__(self, path: Path | None = None, shared: SharedVerification | None = None) -> None:
        self._path = path
        self._shared = shared
        self.verified = path is None
        self.found: tuple[Damage, ...] = ()  # by verification
        self.changed: tuple[Damage, ...] = ()  # while the index was served
        self.is_away = False  # the store does not answer

    @property
    def damages(self) -> tuple[Damage, ...]:
        """What is damaged."""
        return self.found + self.changed

    def start(self) -> None:
        """Verify the index in the background. The thread ends with the process."""
        threading.Thread(target=self.run, name="verify", daemon=True).start()

    def run(self) -> None:
        """Verify the index now, and log what is damaged."""
        if self._path is None:
            return
        try:
            self.found = self._shared.damages(self._path) if self._shared else _damages_of(self._path)
            self.verified = not self.found
        except Exception:
            LOG.exception("the index could not be verified")
        for damage in self.found:
            LOG.error("not served any more: %s", damage)

    @property
    def state(self) -> str:
        """Whether the files are verified, damaged, or still being read, or the store does not answer."""
        if self.is_away:
            return "unavailable"
        return "damaged" if self.damages else "verified" if self.verified else "checking"


class FileWatch:
    """Notices files of a served index that another program truncates or writes: complete files never change.

    Sizes and times are compared at each look. A file that looks changed is read, and compared with its checksum. A file
    that was removed or replaced is no damage: this process has opened the one before.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._states: dict[StoredFile, _State | None] = {}
        self._damages: dict[StoredFile, Damage] = {}

    def restart(self) -> None:
        """Watch the files of the newest commit. What is known of those that an earlier one had stays; the others are as
        they should be now."""
        files = self._store.files()
        self._states = {file: self._states.get(file) or _state(file) for file in files}
        self._damages = {file: damage for file, damage in self._damages.items() if file in self._states}

    def damages(self) -> tuple[Damage, ...]:
        """Look at the files; return what is damaged now. A file that is again as it was written is well."""
        for file, before in self._states.items():
            now = _state(file)
            if before is None or now is None or now.inode != before.inode or now == before:
                continue
            self._states[file] = now
            self._damages.pop(file, None)
            if damage := next(damaged_files(file.folder, {file.name: file.expected}, file.fix), None):
                LOG.error("not served any more: %s", damage)
                self._damages[file] = damage
        return tuple(self._damages.values())

    def check(self) -> None:
        """Look at the files; a damaged one is an error."""
        raise_first(self.damages())


class _State(NamedTuple):
    """What tells without reading a file whether it has changed."""

    inode: int
    size: int
    written: int


def _state(file: StoredFile) -> _State | None:
    try:
        found = os.stat(file.folder / file.name)
    except OSError:
        return None
    return _State(found.st_ino, found.st_size, found.st_mtime_ns)


def is_small(index: str | Path) -> bool:
    """Return whether an index and its collection are verified before they are served."""
    return sum(file.expected.size for file in open_store(index).files()) <= SMALL_BYTES


class DamageGate:
    """ASGI middleware that refuses requests once damage is found."""

    def __init__(self, app: ASGIApp, check: IntegrityCheck) -> None:
        self.app, self.check = app, check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or raise the first damage as an error."""
        if scope["type"] == "http" and self.check.damages and not scope["path"].startswith(ALWAYS):
            raise DamageError.of(self.check.damages[0])
        await self.app(scope, receive, send)


async def ready(request: Request) -> JSONResponse:
    """Report whether the server should get requests: 503 if its index is damaged, with the names of the damaged files,
    or if the store does not answer."""
    check: IntegrityCheck = request.app.state.integrity
    damaged = [{"part": Path(one.part).name, "fact": one.fact} for one in check.damages]
    is_ready = not damaged and not check.is_away
    body = {"ready": is_ready, "integrity": check.state, "damaged": damaged}
    return JSONResponse(body, status_code=200 if is_ready else 503)


async def health(request: Request) -> JSONResponse:
    """Report that this process answers. It reads nothing."""
    return JSONResponse({"status": "ok"})


def routes() -> list[Route]:
    """Return the routes of health and readiness."""
    return [Route("/ready", ready, methods=["GET"]), Route("/health", health, methods=["GET"])]
