"""One writer at a time: a lease in the cluster, which its holder renews, and which anybody may take when it has
ended."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from porism.errors import PorismError, StoreUnavailable
from porism.locks import BusyError
from porism.store.opensearch.places import ClusterPlace, Version

KEY = "lease"
SECONDS = 30.0  # that a lease holds unless it is renewed; the clocks of writers may differ by less
RENEWED = 10.0
PAUSE = 0.2  # seconds between two attempts


class Lease:
    """The right to change a collection. A commit does not rely on it alone: it replaces the manifest only if nobody
    else did."""

    def __init__(self, place: ClusterPlace) -> None:
        self._place = place
        self._owner = uuid.uuid4().hex
        self._holder = ""
        self._until = 0.0  # by time.monotonic()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def held(self, wait: float) -> Iterator[None]:
        """Hold the lease in a block."""
        self.acquire(wait)
        try:
            yield
        finally:
            self.release()

    def acquire(self, wait: float) -> None:
        """Take the lease, or say who has it."""
        self._place.ensure_state()
        end = time.monotonic() + wait
        while not self._take():
            if time.monotonic() >= end:
                fix = "wait for it, or give `wait`"
                raise BusyError(
                    f"another writer changes it now ({self._holder})", where=str(self._place.cluster.address), fix=fix
                )
            time.sleep(min(PAUSE, max(0.0, end - time.monotonic())))
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Refuse to go on when the lease was not renewed in time: another writer may have taken it."""
        if time.monotonic() > self._until:
            fact = f"the lease of this writer could not be renewed for {SECONDS:.0f} seconds"
            raise StoreUnavailable(fact, where=str(self._place), fix="make the changes again")

    def _take(self) -> bool:
        held = self._place.get_state(KEY)
        # A request that was repeated may have taken it before.
        if held is not None and held.value["until"] > time.time() and held.value["owner"] != self._owner:
            self._holder = held.value["holder"]
            return False
        return self._write(held.version if held else None)

    def _write(self, version: Version | None) -> bool:
        until = time.monotonic() + SECONDS
        if not self._place.put_state(KEY, self._value(time.time() + SECONDS), version):
            self._holder = "it was quicker"
            return False
        self._until = until
        return True

    def _value(self, until: float) -> dict[str, Any]:
        holder = f"process {os.getpid()} on {socket.gethostname()}"
        return {"owner": self._owner, "holder": holder, "until": until}

    def _renew(self) -> None:
        while not self._ended.wait(RENEWED):
            try:
                held = self._place.get_state(KEY)
                if held is None or held.value["owner"] != self._owner:
                    self._until = 0.0
                    return
                self._write(held.version)
            except PorismError:
                continue  # the cluster is away: the next attempt may succeed

    def release(self) -> None:
        """Give the lease back. If the cluster is away, it ends by itself."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        with suppress(StoreUnavailable):
            held = self._place.get_state(KEY)
            if held is not None and held.value["owner"] == self._owner:
                self._place.put_state(KEY, self._value(0.0), held.version)
