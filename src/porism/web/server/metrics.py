"""Numbers that all worker processes of a server share, and their text for Prometheus (version 0.0.4).

They are in memory that processes forked from the supervisor inherit. Each worker writes only its own row, so that no
lock is needed and a sum over all rows is right. A worker that replaces another one continues its row, so that counters
never fall. The size is fixed. Labels are routes, statuses and worker numbers, never text of a user.
"""

from __future__ import annotations

import mmap
import os
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

# The upper ends of the buckets of response times, in seconds.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
STATUSES = (200, 303, 304, 400, 401, 403, 404, 405, 413, 422, 429, 499, 500, 503)
# The numbers of a process, as `/metrics` explains them: those that it adds up, and those that only grow.
SUMS = {
    "requests_in_progress": "Requests that are being answered.",
    "queries_running": "Queries that are being computed.",
    "queries_waiting": "Queries that wait for a slot.",
    "response_cache_entries": "Results in the caches.",
}
COUNTERS = {
    "response_cache_hits": "Results from the cache.",
    "response_cache_misses": "Results not in the cache.",
    "query_cache_hits": "Rankings that the engine kept.",
    "query_cache_misses": "Rankings that the engine computed.",
    "slow_queries": "Queries in the log of slow queries.",
    "analytics_dropped": "Events of analytics that were dropped.",
}
# Numbers that are the same in each process, but for a moment after a commit: the least is shown.
LEASTS = {
    "index_segments": "Segments of the index.",
    "index_posts": "Posts of the index.",
    "index_verified": "1 if all files were read and are intact.",
    "index_commit_timestamp_seconds": "When the served state was written.",
}
GAUGES = ("process", *SUMS, *LEASTS, "index_damaged")
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
    """The requests of a route: how many took at most each time of BUCKETS, their number, seconds and statuses."""

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


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def exposition(counters: Counters, version: str) -> str:
    """Return all metrics as text."""
    return "".join(f"{line}\n" for line in (*_requests(counters), *_numbers(counters), *_processes(counters, version)))


def _requests(counters: Counters) -> Iterator[str]:
    used = {route: times for route in counters.routes if (times := counters.times(route)).requests}
    yield from _head("porism_requests_total", "counter", "Requests by route and status.")
    for route, times in used.items():
        for status, number in times.statuses.items():
            yield _sample("porism_requests_total", number, {"route": route, "status": status})
    name = "porism_request_duration_seconds"
    yield from _head(name, "histogram", "Time from the first byte of a request to the last of its response.")
    for route, times in used.items():
        for end, number in zip(BUCKETS, times.buckets, strict=True):
            yield _sample(f"{name}_bucket", number, {"route": route, "le": repr(end)})
        yield _sample(f"{name}_bucket", times.requests, {"route": route, "le": "+Inf"})
        yield _sample(f"{name}_sum", times.seconds, {"route": route})
        yield _sample(f"{name}_count", times.requests, {"route": route})


def _numbers(counters: Counters) -> Iterator[str]:
    for name, text in SUMS.items():
        yield from _metric(f"porism_{name}", "gauge", text, counters.total(name))
    for name, text in COUNTERS.items():
        yield from _metric(f"porism_{name}_total", "counter", text, counters.total(name))
    for name, text in LEASTS.items():
        yield from _metric(f"porism_{name}", "gauge", text, _least(counters, name))
    age = max(0.0, time.time() - _least(counters, "index_commit_timestamp_seconds"))
    yield from _metric("porism_index_age_seconds", "gauge", "Time since the served state was written.", age)
    damaged = max(counters.of_workers("index_damaged"))
    yield from _metric("porism_index_damaged", "gauge", "1 if a process has found a damaged file.", damaged)


def _least(counters: Counters, number: str) -> float:
    """Return the least value of the processes that have started."""
    pairs = zip(counters.of_workers("process"), counters.of_workers(number), strict=True)
    return min((value for process, value in pairs if process), default=0.0)


def _processes(counters: Counters, version: str) -> Iterator[str]:
    restarts = counters.shared.restarts
    yield from _metric("porism_worker_restarts_total", "counter", "Workers that died or froze.", restarts)
    memory = [(worker, resident_bytes(int(pid))) for worker, pid in enumerate(counters.of_workers("process"))]
    yield from _metric("porism_workers", "gauge", "Worker processes that run.", sum(1 for _, used in memory if used))
    yield from _head("porism_worker_resident_memory_bytes", "gauge", "Memory of a worker; mapped files count in each.")
    for worker, used in memory:
        if used:
            yield _sample("porism_worker_resident_memory_bytes", used, {"worker": str(worker)})
    yield from _head("porism_build_info", "gauge", "The version of Porism.")
    yield _sample("porism_build_info", 1, {"version": version})


def resident_bytes(process: int) -> int:
    """Return the resident memory of a process; 0 if it does not run or the system does not say."""
    try:
        text = Path(f"/proc/{process}/status").read_text("ascii", "replace") if process else ""
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmRSS:")), 0)


def _metric(name: str, type: str, help: str, value: float) -> tuple[str, ...]:
    return (*_head(name, type, help), _sample(name, value))


def _head(name: str, type: str, help: str) -> tuple[str, str]:
    return f"# HELP {name} {help}", f"# TYPE {name} {type}"


def _sample(name: str, value: float, labels: Mapping[str, str] | None = None) -> str:
    escaped = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n"}
    shown = ",".join(f'{label}="{text.translate(escaped)}"' for label, text in (labels or {}).items())
    return f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"
