"""Results of views: from a cache of the latest ones, or computed in a slot within the time limit."""

from __future__ import annotations

import asyncio
import functools
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

from cachetools import LRUCache
from starlette.requests import Request

from porism.caching import CacheCounts
from porism.deadline import TimeLimitExceeded, passed, time_limit
from porism.errors import StoreUnavailable
from porism.web.http.requests import BadRequest

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
    """The turns of one computation. Once it has become long, it rests while short ones and older long ones run. The
    threads of a process share one processor, so that a few long computations would slow all short ones down."""

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
        with self._lock:
            if self._taken >= self._capacity:
                raise Busy
            self._taken += 1
        future = self._executor.submit(self._compute, work, time.monotonic() + seconds)
        future.add_done_callback(self._release)
        waiting = asyncio.wrap_future(future)
        # Nobody may wait for the exception any more.
        waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            return await asyncio.wait_for(asyncio.shield(waiting), seconds + GRACE_SECONDS)
        except TimeLimitExceeded:
            raise
        except TimeoutError:
            if future.cancel():
                raise Busy from None
            raise TimeLimitExceeded from None

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


CACHE_SIZE = 256  # results; ten hits take about 60 KB

Key = tuple[str, tuple[tuple[str, Any], ...]]


class ResponseCache:
    """Results by view and parameters, least recently used out first. Only the event loop uses it: it needs no lock."""

    def __init__(self, size: int = CACHE_SIZE, counts: CacheCounts | None = None) -> None:
        self._size = size
        self.counts = counts or CacheCounts()
        self._results: LRUCache[Key, Any] = LRUCache(size)

    def cleared(self) -> ResponseCache:
        """Return an empty cache of the same size, for another commit of the index. Hits and misses are counted on."""
        return ResponseCache(self._size, self.counts)

    def __len__(self) -> int:
        """Return the number of cached results."""
        return len(self._results)

    @staticmethod
    def key(view: Callable[..., Any], values: Mapping[str, Any]) -> Key:
        """Return the key of a request: equal requests have equal keys."""
        return view.__name__, tuple(sorted(values.items()))

    def get(self, key: Key) -> Any:
        """Return the cached result, with the time that this lookup took, or None."""
        started = time.perf_counter()
        found = self._results.get(key)
        self.counts.count(found is not None)
        return None if found is None else replace(found, seconds=time.perf_counter() - started)

    def put(self, key: Key, result: Any) -> None:
        """Cache a result."""
        if self._size:
            self._results[key] = result


# Views whose results are cached, by their names: they take time and are often repeated (a second page, the back button,
# popular queries).
CACHED_VIEWS = frozenset(("search", "formulas"))
# Views that only read what is in memory. They need no slot, so that a busy server still reports that it works.
IMMEDIATE_VIEWS = frozenset(("health",))


async def run_view(request: Request, view: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Return a view's result, from the cache or computed in a slot. The computation ends soon after the time limit,
    because it checks the limit itself. Its slot is free when it has ended."""
    state = request.app.state
    cache = state.cache  # before the engine: a new commit of the index brings a new engine, then a new cache
    work = functools.partial(view, state.engine, **values)
    if view.__name__ in IMMEDIATE_VIEWS:
        return work()
    key = cache.key(view, values) if view.__name__ in CACHED_VIEWS else None
    if key is not None and (cached := cache.get(key)) is not None:
        return cached
    try:
        result = await state.slots.run(work, state.seconds)
    except Busy:
        raise busy() from None
    except StoreUnavailable:
        raise
    except TimeLimitExceeded as error:
        message = f"the query took longer than {state.seconds:g} seconds"
        raise BadRequest(message, fix=error.fix, status=503) from None
    if key is not None and result.complete:
        cache.put(key, result.value)
    return result.value
