"""The served index: verified in the background, refused once damage is found, and replaced by its newest commit."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import sys
import tempfile
import threading
import time
from dataclasses import astuple
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from porism.errors import PorismError, StoreUnavailable
from porism.integrity import Damage, DamageError, FileWatch
from porism.search.engine import Engine
from porism.store import open_store
from porism.web.api.changes import WriteAccess

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
    result. Create it before the processes are forked. If the process that verifies dies, the next one begins again."""

    def __init__(self) -> None:
        # In memory where the system can, since a hardened server may have no folder to write to.
        if sys.platform == "linux":
            self._file = os.memfd_create("verified")
        else:
            self._file, name = tempfile.mkstemp()
            os.unlink(name)

    def forget(self) -> None:
        """Let the next process verify again, for instance because one has died of what it read."""
        os.ftruncate(self._file, 0)

    def damages(self, index: Path) -> tuple[Damage, ...]:
        """Return what is damaged in an index, as any process found it."""
        file = self._file
        # Unlike flock, it excludes forked processes, and ends with the one that holds it.
        fcntl.lockf(file, fcntl.LOCK_EX)
        try:
            if known := os.pread(file, os.fstat(file).st_size, 0):
                return tuple(Damage(*fields) for fields in json.loads(known))
            found = _damages_of(index)
            os.pwrite(file, json.dumps([astuple(damage) for damage in found]).encode(), 0)
            return found
        finally:
            fcntl.lockf(file, fcntl.LOCK_UN)


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
    """Report whether the server should get requests: 503 if its index is damaged or its store does not answer."""
    check: IntegrityCheck = request.app.state.integrity
    damaged = [{"part": Path(one.part).name, "fact": one.fact} for one in check.damages]
    is_ready = not damaged and not check.is_away
    body = {"ready": is_ready, "integrity": check.state, "damaged": damaged}
    return JSONResponse(body, status_code=200 if is_ready else 503)


async def health(request: Request) -> JSONResponse:
    """Report that this process answers. It reads nothing."""
    return JSONResponse({"status": "ok"})


ROUTES = [Route("/ready", ready, methods=["GET"]), Route("/health", health, methods=["GET"])]
SETTLE_LOOKS = 20  # after which all nodes of a cluster know of a change
FOLLOW_SECONDS = 0.25  # between two looks for a newer commit of the index, and at the sizes and times of its files


def open_files(engine: Engine) -> None:
    """Open the files and compile the loops that most requests need: words, formulas, and the highlights of a page."""
    engine.search("square root $\\sqrt{x}$", k=1)
    engine.search("proof of $a^2+b^2=c^2$", k=10)
    engine.formulas("a^2+b^2", k=3)


def follow_index(app: Starlette) -> None:
    """Look after the index for as long as it is served."""
    seen, looks = None, 0
    store = app.state.engine.store
    watch = FileWatch(store.files)
    while True:
        time.sleep(FOLLOW_SECONDS)
        try:
            version = store.version()
            if seen != version:
                looks += 1
                # A node of a cluster may know of a change that the next one does not know of yet.
                if switch_to_newest(app) or looks > SETTLE_LOOKS:
                    seen, looks = version, 0
                watch.restart()
            app.state.integrity.is_away = False
        except StoreUnavailable as error:
            if not app.state.integrity.is_away:
                logging.error("not ready: %s", " ".join(str(error).split()))
            app.state.integrity.is_away = True
        except (PorismError, OSError) as error:
            logging.warning("a newer commit of the index cannot be opened: %s", error)
        app.state.integrity.changed = watch.damages()


def switch_to_newest(app: Starlette) -> bool:
    """Serve the newest commit of the index from now on, and report its position in the change log. Return whether it is
    another one. Requests that are under way finish on the engine they have. The last of them frees it: an engine has no
    cycles of references, so that its files are closed at once, without the garbage collector."""
    writing: WriteAccess | None = app.state.writing
    position = writing.position() if writing else None  # before the refresh, which may find a newer commit
    fresh = app.state.engine.refresh()
    is_new = fresh is not app.state.engine
    if is_new:
        open_files(fresh)
        app.state.engine, app.state.cache = fresh, app.state.cache.cleared()
        logging.info("the index has changed: a newer commit is served")
    if writing and position:
        writing.served.set(position.sequence)
    return is_new
