"""Observe a running application: count and time requests, log slow queries, keep this process's numbers current."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from porism.errors import PorismError
from porism.search.engine import Engine
from porism.store.protocols import StoreStatus
from porism.web.http.logs import printable
from porism.web.http.middleware import LOOPBACK
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
        self._engine: object = None
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
            status = status_of(state.engine)
            counters.set("index_segments", status.parts if status else 0)
            with contextlib.suppress(
                PorismError, sqlite3.Error
            ):  # of a damaged collection, which is reported elsewhere
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
        request_id = scope.get("state", {}).get("request_id", "")
        milliseconds = round(seconds * 1000, 1)
        fields: dict[str, object] = {
            "event": "slow_query",
            "request_id": request_id,
            "route": route,
            "status": status,
            "milliseconds": milliseconds,
            "query_characters": len(query),
        }
        text = printable(query[:MOST_TEXT]) if self.settings.slow_text else ""
        if text:
            fields["query"] = text
        shown = (request_id, route, status, milliseconds, len(query), text and f": {text}")
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


def status_of(engine: Engine) -> StoreStatus | None:
    """Return the status of the store of an engine; None if that is not known."""
    with contextlib.suppress(PorismError, OSError):
        return engine.store.status() if engine.store else None
    return None


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
