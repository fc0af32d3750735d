"""Slots for queries: a fixed number of threads computes them, a bounded number waits, and one more is refused."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from porism.deadline import TimeLimitExceeded, passed, time_limit

RUNNING = 4  # queries that one process computes at the same time; more would only wait for each other
WAITING = 32  # queries that may wait for a slot in one process
GRACE_SECONDS = 0.5  # for a computation to notice that its time is over
STUCK_SECONDS = 10.0  # after its time limit, when a computation that has not ended never will


class Busy(Exception):
    """All slots are taken, and so are all places in the queue."""


class Computed(NamedTuple):
    """A result. It is `complete` unless something was left out to keep the time limit."""

    value: Any
    complete: bool


class QuerySlots:
    """Runs computations in threads. A slot stays taken until its computation has ended, also when nobody waits for it any more."""

    def __init__(self, running: int = RUNNING, waiting: int = WAITING) -> None:
        self._executor = ThreadPoolExecutor(running, "query")
        self._capacity = running + waiting
        self._taken = 0
        self._lock = threading.Lock()
        self._ends: dict[int, float] = {}  # of the running computations, by thread

    async def run(self, work: Callable[[], Any], seconds: float) -> Computed:
        """Return the result, or raise Busy, or TimeLimitExceeded. The time limit includes the time in the queue."""
        future = self._submit(work, time.monotonic() + seconds)
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), seconds + GRACE_SECONDS)
        except TimeLimitExceeded:
            raise
        except TimeoutError:
            if future.cancel():
                raise Busy from None
            raise TimeLimitExceeded from None

    def _submit(self, work: Callable[[], Any], end: float) -> Future[Computed]:
        with self._lock:
            if self._taken >= self._capacity:
                raise Busy
            self._taken += 1
        future = self._executor.submit(self._compute, work, end)
        future.add_done_callback(self._release)
        return future

    def _release(self, future: Future[Computed]) -> None:
        with self._lock:
            self._taken -= 1

    def is_stuck(self) -> bool:
        """Return whether a computation does not end, although its time limit passed long ago."""
        with self._lock:
            return min(self._ends.values(), default=math.inf) < time.monotonic() - STUCK_SECONDS

    def _compute(self, work: Callable[[], Any], end: float) -> Computed:
        thread = threading.get_ident()
        with self._lock:
            self._ends[thread] = end
        try:
            with time_limit(end - time.monotonic()) as limit:
                if passed():
                    raise Busy
                return Computed(work(), not limit.shortened)
        finally:
            with self._lock:
                del self._ends[thread]
