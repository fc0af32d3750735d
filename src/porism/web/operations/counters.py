"""Numbers that all worker processes of a server share.

They are in memory that processes forked from the supervisor inherit. Each worker writes only its own row, so that no
lock is needed and a sum over all rows is right. A worker that replaces another one continues its row, so that counters
never fall. The size is fixed.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# The upper ends of the buckets of response times, in seconds.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
STATUSES = (200, 303, 304, 400, 401, 403, 404, 405, 413, 422, 429, 499, 500, 503)
GAUGES = (
    "process",
    "requests_in_progress",
    "queries_running",
    "queries_waiting",
    "response_cache_entries",
    "index_commit_time",
    "index_segments",
    "index_posts",
    "index_verified",
    "index_damaged",
)
COUNTERS = (
    "response_cache_hits",
    "response_cache_misses",
    "query_cache_hits",
    "query_cache_misses",
    "slow_queries",
    "analytics_dropped",
)
MOST_ROUTES = 128
OTHER = "other"  # the route of a path that no route has
_TIMES = len(BUCKETS) + 2  # a bucket for longer times, and the sum
_ROUTE = _TIMES + len(STATUSES) + 1  # the last one counts other statuses
_FIRST_ROUTE = len(GAUGES) + len(COUNTERS)
_ROW = _FIRST_ROUTE + MOST_ROUTES * _ROUTE
_AT = {name: at for at, name in enumerate((*GAUGES, *COUNTERS))}
_STATUS_AT = {status: at for at, status in enumerate(STATUSES)}


class SharedCounters:
    """A row of numbers for each worker process, and the number of workers that were replaced."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._numbers = memoryview(mmap.mmap(-1, 8 * (1 + workers * _ROW))).cast("d")

    def count_restart(self) -> None:
        """Count a worker that was replaced. Only the supervisor calls this."""
        self._numbers[0] += 1

    @property
    def restarts(self) -> int:
        """How many workers were replaced."""
        return int(self._numbers[0])

    def row(self, worker: int) -> memoryview[float]:
        """Return the numbers of a worker."""
        start = 1 + worker * _ROW
        return self._numbers[start : start + _ROW]


class RouteTimes(NamedTuple):
    """The requests of a route: how many took at most each time of BUCKETS, all of them, the sum of their seconds, and
    their statuses."""

    buckets: tuple[int, ...]
    requests: int
    seconds: float
    statuses: dict[str, int]


class Counters:
    """The numbers of this process, and sums over all processes. Only the event loop writes."""

    def __init__(self, shared: SharedCounters, routes: Iterable[str]) -> None:
        self.shared = shared
        self.routes: Sequence[str] = (*sorted(set(routes))[: MOST_ROUTES - 1], OTHER)
        self._at = {route: _FIRST_ROUTE + at * _ROUTE for at, route in enumerate(self.routes)}
        self._row = shared.row(0)

    def claim(self, worker: int) -> None:
        """Continue the row of a worker that this process replaces."""
        self._row = self.shared.row(worker)
        for name in GAUGES:
            self._row[_AT[name]] = 0.0
        self.set("process", os.getpid())

    def set(self, name: str, value: float) -> None:
        """Set a number of this process."""
        self._row[_AT[name]] = value

    def add(self, name: str, value: float = 1) -> None:
        """Add to a number of this process."""
        self._row[_AT[name]] += value

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        start = self._at.get(route, self._at[OTHER])
        self._row[start + bisect_left(BUCKETS, seconds)] += 1
        self._row[start + _TIMES - 1] += seconds
        self._row[start + _TIMES + _STATUS_AT.get(status, len(STATUSES))] += 1

    def total(self, name: str) -> float:
        """Return the sum of a number over all processes."""
        return float(sum(self.of_workers(name)))

    def of_workers(self, name: str) -> list[float]:
        """Return a number of each process."""
        return [self.shared.row(worker)[_AT[name]] for worker in range(self.shared.workers)]

    def times(self, route: str) -> RouteTimes:
        """Return the requests of a route, of all processes together."""
        start = self._at[route]
        rows = [self.shared.row(worker)[start : start + _ROUTE] for worker in range(self.shared.workers)]
        sums = [sum(column) for column in zip(*rows, strict=True)]
        buckets, total = [], 0
        for number in sums[: len(BUCKETS)]:
            total += int(number)
            buckets.append(total)
        names = (*map(str, STATUSES), OTHER)
        statuses = {name: int(number) for name, number in zip(names, sums[_TIMES:], strict=True) if number}
        return RouteTimes(tuple(buckets), total + int(sums[len(BUCKETS)]), sums[_TIMES - 1], statuses)
