"""Observe a running application: count and time requests, log slow queries, keep this process's numbers current; record
searches and clicks of the pages, and show them to the operator.

Searches and clicks wait in memory and a thread writes them, so that no request waits for the disk.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import queue
import sqlite3
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from porism.errors import PorismError
from porism.search.analytics import MOST_POSITION, AnalyticsStore, Click, Search, ShownHit, read_report
from porism.search.engine import Engine
from porism.store.protocols import StoreStatus
from porism.web.http.middleware import LOOPBACK, printable
from porism.web.http.requests import Parameter, parse_parameters
from porism.web.pages.page import POST_TABS, TAB, TEXT, SearchState, render
from porism.web.server.metrics import CONTENT_TYPE, OTHER, Counters, SharedCounters, exposition


@dataclass(frozen=True, slots=True)
class Operations:
    """What is measured and recorded. Nothing is on by default.

    `slow_ms` is the time from which a query is logged as slow, with its text only if `slow_text` is set. `analytics` is
    the file that records searches. Pages for the operator answer on a port of their own, which only this machine
    reaches: `port`, 0 for a free one, None for the one after that of the site. With `open_pages`, they answer on the
    port of the site, to everyone.
    """

    metrics: bool = False
    slow_ms: float | None = None
    slow_text: bool = False
    analytics: Path | None = None
    minimum_count: int = 5
    open_pages: bool = False
    port: int | None = None

    @property
    def has_own_port(self) -> bool:
        """Return whether there are pages for the operator alone."""
        return (self.metrics or self.analytics is not None) and not self.open_pages


NOTHING = Operations()
LOG = logging.getLogger("porism.web")
NO_ANSWER = 499  # the client left before anything was sent
MOST_TEXT = 300  # characters of a query in the log of slow queries
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


class Observer:
    """What is measured of an application. `claim` and `update` are called in its worker process."""

    def __init__(self, app: Starlette, settings: Operations, shared: SharedCounters) -> None:
        self.app, self.settings = app, settings
        self.counters = Counters(shared, (route_name(route) for route in app.routes))
        self._engine: Engine | None = None
        self._counted: dict[str, int] = {}

    def update(self) -> None:
        """Write the present state of this process into the shared numbers."""
        state, counters = self.app.state, self.counters
        load = state.slots.load()
        counters.set("queries_running", load.running)
        counters.set("queries_waiting", load.waiting)
        counters.set("response_cache_entries", len(state.cache))
        counters.set("index_verified", state.integrity.verified)
        counters.set("index_damaged", bool(state.integrity.damages))
        counted = {
            "response_cache_hits": state.cache.counts.hits,
            "response_cache_misses": state.cache.counts.misses,
            "query_cache_hits": state.engine.cache_counts.hits,
            "query_cache_misses": state.engine.cache_counts.misses,
            "analytics_dropped": getattr(getattr(state, "recorder", None), "dropped", 0),
        }
        for name, value in counted.items():
            counters.add(name, value - self._counted.get(name, 0))
        self._counted = counted
        if state.engine is not self._engine:
            self._engine = state.engine
            status: StoreStatus | None = None
            with contextlib.suppress(PorismError, OSError):
                status = state.engine.store.status() if state.engine.store else None
            counters.set("index_segments", status.parts if status else 0)
            # A damaged collection is reported elsewhere.
            with contextlib.suppress(PorismError, sqlite3.Error):
                counters.set("index_posts", state.engine.content.count("posts"))
            counters.set("index_commit_timestamp_seconds", status.committed if status else 0.0)

    def note_slow_query(self, scope: Scope, route: str, status: int, seconds: float) -> None:
        """Log a query that took long: how long, its route and length; its text only if the operator wants it."""
        if self.settings.slow_ms is None or seconds * 1000 < self.settings.slow_ms:
            return
        query = parse_qs(scope["query_string"].decode("latin-1")).get("q", [""])[0]
        if not query:
            return
        self.counters.add("slow_queries")
        fields: dict[str, object] = {
            "request_id": scope.get("state", {}).get("request_id", ""),
            "route": route,
            "status": status,
            "milliseconds": round(seconds * 1000, 1),
            "query_characters": len(query),
        }
        text = printable(query[:MOST_TEXT]) if self.settings.slow_text else ""
        shown = (*fields.values(), text and f": {text}")
        fields = {"event": "slow_query", **fields, **({"query": text} if text else {})}
        LOG.warning("%s slow query: %s %s %.1f ms, %d characters%s", *shown, extra={"fields": fields})


class ObserverMiddleware:
    """ASGI middleware around all others: it counts and times requests."""

    def __init__(self, app: ASGIApp, observer: Observer) -> None:
        self.app, self.observer = app, observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, began, counters = NO_ANSWER, time.perf_counter(), self.observer.counters

        async def send_observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        counters.add("requests_in_progress")
        try:
            await self.app(scope, receive, send_observed)
        finally:
            counters.add("requests_in_progress", -1)
            seconds, route = time.perf_counter() - began, route_name(scope.get("route"))
            counters.observe(route, status, seconds)
            self.observer.note_slow_query(scope, route, status, seconds)


def route_name(route: BaseRoute | None) -> str:
    """Return the pattern of a route, such as /v1/posts/{id}. It never contains what a user typed."""
    return route.path if isinstance(route, (Route, Mount)) and route.path else OTHER


def observe(app: Starlette, settings: Operations, shared: SharedCounters) -> Observer:
    """Observe an application. With `settings.metrics` it answers /metrics."""

    async def metrics(request: Request) -> Response:
        """Return the metrics of all processes."""
        from porism import __version__

        check_operator(request, settings)
        observer.update()
        return Response(exposition(observer.counters, __version__), media_type=CONTENT_TYPE)

    if settings.metrics:
        app.router.routes.append(Route("/metrics", metrics, methods=["GET"]))
    observer = Observer(app, settings, shared)
    app.add_middleware(ObserverMiddleware, observer=observer)
    return observer


WRITE_SECONDS = 1.0  # between two writes
CLICK_SECONDS = 5.0  # a click is written later than its search, which another process may hold
MOST_EVENTS = 10_000  # that wait; more are dropped
# Headers by which a browser asks not to be followed: its searches and clicks are not recorded.
OPT_OUT = ("dnt", "sec-gpc")


class _Waiting(NamedTuple):
    """An event and the time from which it may be written."""

    due: float
    event: Search | Click


class Recorder:
    """Writes the events of one process to a file of analytics. If that fails, events are lost, never a request."""

    def __init__(self, path: Path, minimum_count: int) -> None:
        self.path, self.minimum_count = path, minimum_count
        self.dropped = 0
        self._events: queue.Queue[_Waiting] = queue.Queue(MOST_EVENTS)
        self._late: list[_Waiting] = []
        self._lock = threading.Lock()  # one thread writes at a time
        self._store: AnalyticsStore | None = None
        self._has_failed = False

    def start(self) -> None:
        """Write events from a thread that ends with the process."""
        threading.Thread(target=self._run, name="analytics", daemon=True).start()

    def record(self, event: Search | Click, headers: Headers) -> None:
        """Take an event of a request, unless its browser opts out."""
        if any(headers.get(name) == "1" for name in OPT_OUT):
            return
        due = time.monotonic() + (CLICK_SECONDS if isinstance(event, Click) else 0)
        try:
            self._events.put_nowait(_Waiting(due, event))
        except queue.Full:
            self.dropped += 1

    def flush(self, *, everything: bool = True) -> None:
        """Write the events that are due, or all of them."""
        with self._lock:
            waiting = self._late
            while not self._events.empty():
                waiting.append(self._events.get_nowait())
            now = time.monotonic()
            self._late = [] if everything else [one for one in waiting if one.due > now]
            due = waiting if everything else [one for one in waiting if one.due <= now]
            # Searches first: a click counts only if its hit was shown.
            events = sorted((one.event for one in due), key=lambda event: isinstance(event, Click))
            if events:
                self._write(events)

    def _write(self, events: list[Search | Click]) -> None:
        try:
            if self._store is None:
                self._store = AnalyticsStore(self.path, self.minimum_count)
            self._store.write(events)
            self._has_failed = False
        except (PorismError, sqlite3.Error, OSError) as error:
            self.dropped += len(events)
            if not self._has_failed:  # once, not every second
                LOG.warning("search analytics cannot be written: %s", error)
            self._has_failed = True

    def _run(self) -> None:
        while True:
            time.sleep(WRITE_SECONDS)
            self.flush(everything=False)


CLICK = (
    TEXT,
    TAB,
    Parameter("thread", "the thread of the hit", int, required=True, high=2**53),
    Parameter("post", "the hit", int, required=True, high=2**53),
    Parameter("position", "its position in the ranking", int, required=True, low=1, high=1000),
)


async def go(request: Request) -> Response:
    """Count a click on a hit, and lead to the page of its thread. It works without scripts."""
    values = parse_parameters(CLICK, request.query_params)
    recorder: Recorder = request.app.state.recorder
    hit = ShownHit(values["post"], values["position"])
    if values["tab"] in POST_TABS and hit.position <= MOST_POSITION:
        recorder.record(Click(values["q"], values["tab"], hit), request.headers)
    address = SearchState(values).thread_link(values["thread"], hit.post)
    return RedirectResponse(address, 303, {"cache-control": "no-store"})


async def analytics_page(request: Request) -> Response:
    """Show the operator what is searched and clicked."""
    settings: Operations = request.app.state.operations
    check_operator(request, settings)
    recorder: Recorder = request.app.state.recorder
    await run_in_threadpool(recorder.flush, everything=False)
    report = await run_in_threadpool(read_report, recorder.path)
    rates = [(one, one.clicks / one.impressions if one.impressions else 0.0) for one in report.positions[:10]]
    return render(request, "analytics.html", report=report, rates=rates)


ANALYTICS_ROUTES = [Route("/go", go, methods=["GET"]), Route("/analytics", analytics_page, methods=["GET"])]
