"""Slots for computations: a fixed number of threads computes them, a bounded number waits, and one more is refused."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from porism.deadline import TimeLimitExceeded, passed, time_limit
from porism.web.http.errors import BadRequest

RUNNING = 8  # queries that one process computes at the same time
SHORT_RUNNING = 2  # of them that are short: more threads would only take turns, which costs processor time
# to wait for the end of a short one; then those that run wait for a disk or for others, and one more does no harm
PLACE_SECONDS = 0.2
SHORT_SECONDS = 0.05  # of processor time; most queries take less. A longer one lets short ones go first
WORK_SECONDS, REST_SECONDS = 0.002, 0.005  # how long it works, and how long it rests, while others go first
WAITING = 32  # queries that may wait for a slot in one process
GRACE_SECONDS = 0.5  # for a computation to notice that its time is over
STUCK_SECONDS = 10.0  # after its time limit, when a computation that has not ended never will


class Busy(Exception):
    """All slots are taken, and so are all places in the queue."""


class Computed(NamedTuple):
    """A result. It is `complete` unless something was left out to keep the time limit."""

    value: Any
    complete: bool


class Load(NamedTuple):
    """How many computations run, and how many wait for a slot."""

    running: int
    waiting: int


class Turn:
    """The turns of one computation. Once it has become long, it rests while short ones and older long ones run.

    The threads of a process share one processor, so that a few long computations would slow all short ones down.
    """

    def __init__(self, end: float, others: Callable[[], Iterable[Turn]], places: threading.Semaphore) -> None:
        """Take one of `places`, those of short computations, if one is free soon, until this one is long or ends."""
        self.end = end
        self._places = places
        self._has_place = places.acquire(timeout=PLACE_SECONDS)
        self.is_long = False
        self._others = others
        self._thread = threading.get_ident()
        self._began = time.thread_time()
        self._started = time.monotonic()
        self._next = 0.0

    def give_way(self) -> None:
        """Rest a little if this computation is long and others go first."""
        if time.monotonic() < self._next or threading.get_ident() != self._thread:
            return
        if not self.is_long:
            self.is_long = time.thread_time() - self._began > SHORT_SECONDS
            if self.is_long:
                self.leave()
        elif any(not turn.is_long or turn._started < self._started for turn in self._others()):
            time.sleep(REST_SECONDS)
        self._next = time.monotonic() + WORK_SECONDS

    def leave(self) -> None:
        """Leave the place of a short computation to the next one."""
        if self._has_place:
            self._has_place = False
            self._places.release()


class QuerySlots:
    """Runs computations in threads. A slot is free when its computation has ended, also if nobody waits any more."""

    def __init__(self, running: int = RUNNING, waiting: int = WAITING) -> None:
        self._executor = ThreadPoolExecutor(running, "query")
        self._capacity = running + waiting
        self._taken = 0
        self._lock = threading.Lock()
        self._places = threading.Semaphore(SHORT_RUNNING)
        self._turns: dict[int, Turn] = {}  # of the running computations, by thread

    async def run(self, work: Callable[[], Any], seconds: float) -> Computed:
        """Return the result, or raise Busy, or TimeLimitExceeded. The time limit includes the time in the queue."""
        future = self._submit(work, time.monotonic() + seconds)
        waiting = asyncio.wrap_future(future)
        waiting.add_done_callback(
            lambda done: done.cancelled() or done.exception()
        )  # which nobody may wait for any more
        try:
            return await asyncio.wait_for(asyncio.shield(waiting), seconds + GRACE_SECONDS)
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

    def load(self) -> Load:
        """Return how many computations run and wait now."""
        with self._lock:
            return Load(len(self._turns), max(0, self._taken - len(self._turns)))

    def is_stuck(self) -> bool:
        """Return whether a computation does not end, although its time limit passed long ago."""
        with self._lock:
            ends = [turn.end for turn in self._turns.values()]
        return min(ends, default=math.inf) < time.monotonic() - STUCK_SECONDS

    def _compute(self, work: Callable[[], Any], end: float) -> Computed:
        thread, turn = threading.get_ident(), Turn(end, lambda: list(self._turns.values()), self._places)
        with self._lock:
            self._turns[thread] = turn
        try:
            with time_limit(end - time.monotonic(), turn.give_way) as limit:
                if passed():
                    raise Busy
                return Computed(work(), not limit.shortened)
        finally:
            turn.leave()
            with self._lock:
                del self._turns[thread]


RETRY_SECONDS = 2  # after which a client may try again when the server is busy


def busy() -> BadRequest:
    """Return the error of a server that has more queries than it can answer."""
    fix = f"try again in {RETRY_SECONDS} seconds"
    return BadRequest("the server is busy with other queries", fix=fix, status=429, retry_after=RETRY_SECONDS)
