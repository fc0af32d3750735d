"""Metrics in the text format of Prometheus (version 0.0.4). Labels are routes, statuses and worker numbers, never text
of a user."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request

from porism.web.operations.counters import BUCKETS, Counters
from porism.web.operations.settings import Operations
from porism.web.server.serving import LOOPBACK

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metric(NamedTuple):
    """A metric whose value is a sum over all processes: its name, type and meaning, and the number it shows."""

    name: str
    type: str
    help: str
    number: str


SUMS = (
    Metric("porism_requests_in_progress", "gauge", "Requests that are being answered.", "requests_in_progress"),
    Metric("porism_queries_running", "gauge", "Queries that are being computed.", "queries_running"),
    Metric("porism_queries_waiting", "gauge", "Queries that wait for a slot.", "queries_waiting"),
    Metric("porism_response_cache_entries", "gauge", "Results in the caches.", "response_cache_entries"),
    Metric("porism_response_cache_hits_total", "counter", "Results from the cache.", "response_cache_hits"),
    Metric("porism_response_cache_misses_total", "counter", "Results not in the cache.", "response_cache_misses"),
    Metric("porism_query_cache_hits_total", "counter", "Rankings that the engine kept.", "query_cache_hits"),
    Metric("porism_query_cache_misses_total", "counter", "Rankings that the engine computed.", "query_cache_misses"),
    Metric("porism_slow_queries_total", "counter", "Queries in the log of slow queries.", "slow_queries"),
    Metric("porism_analytics_dropped_total", "counter", "Events of analytics that were dropped.", "analytics_dropped"),
)
# Numbers that are the same in each process, but for a moment after a commit: the least is shown.
LEASTS = (
    Metric("porism_index_segments", "gauge", "Segments of the index.", "index_segments"),
    Metric("porism_index_posts", "gauge", "Posts of the index.", "index_posts"),
    Metric("porism_index_verified", "gauge", "1 if all files were read and are intact.", "index_verified"),
    Metric("porism_index_commit_timestamp_seconds", "gauge", "When the served state was written.", "index_commit_time"),
)


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
    for metric in SUMS:
        yield from _head(metric.name, metric.type, metric.help)
        yield _sample(metric.name, counters.total(metric.number))
    for metric in LEASTS:
        yield from _head(metric.name, metric.type, metric.help)
        yield _sample(metric.name, _least(counters, metric.number))
    yield from _head("porism_index_age_seconds", "gauge", "Time since the served state was written.")
    yield _sample("porism_index_age_seconds", max(0.0, time.time() - _least(counters, "index_commit_time")))
    yield from _head("porism_index_damaged", "gauge", "1 if a process has found a damaged file.")
    yield _sample("porism_index_damaged", max(counters.of_workers("index_damaged")))


def _least(counters: Counters, number: str) -> float:
    """Return the least value of the processes that have started."""
    pairs = zip(counters.of_workers("process"), counters.of_workers(number), strict=True)
    return min((value for process, value in pairs if process), default=0.0)


def _processes(counters: Counters, version: str) -> Iterator[str]:
    yield from _head("porism_worker_restarts_total", "counter", "Workers that died or froze and were replaced.")
    yield _sample("porism_worker_restarts_total", counters.shared.restarts)
    memory = [(worker, resident_bytes(int(pid))) for worker, pid in enumerate(counters.of_workers("process"))]
    yield from _head("porism_workers", "gauge", "Worker processes that run.")
    yield _sample("porism_workers", sum(1 for _, used in memory if used))
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


def _head(name: str, type: str, help: str) -> tuple[str, str]:
    return f"# HELP {name} {help}", f"# TYPE {name} {type}"


def _sample(name: str, value: float, labels: Mapping[str, str] | None = None) -> str:
    shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in (labels or {}).items())
    return f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


NAMES = {name.strip("[]") for name in LOOPBACK}


def check_operator(request: Request, settings: Operations) -> None:
    """Refuse a request that is not the operator's, as if there were no such page."""
    if not settings.open_pages and not (settings.port and is_local(request, settings.port)):
        raise HTTPException(404)


def is_local(request: Request, port: int) -> bool:
    """Return whether a request comes from this machine, under a name of this machine, to this port."""
    server = request.scope.get("server")
    if request.client is None or server is None or server[1] != port:
        return False
    try:
        address = ipaddress.ip_address(request.client.host)
    except ValueError:
        return False
    return address.is_loopback and request.url.hostname in NAMES
