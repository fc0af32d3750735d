"""Search analytics: searches and clicks of the pages are recorded, and shown to the operator.

Events wait in memory and a thread writes them, so that no request waits for the disk.
"""

from __future__ import annotations

import logging
import queue
import sqlite3
import threading
import time
from pathlib import Path
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from porism.errors import PorismError
from porism.search.analytics import (
    MOST_POSITION,
    AnalyticsStore,
    Click,
    PositionCount,
    Report,
    Search,
    ShownHit,
    read_report,
)
from porism.web.http.parameters import Parameter, parse_parameters
from porism.web.pages.page import POST_TABS, TAB, TEXT, SearchState, render
from porism.web.server.observer import Operations, check_operator

LOG = logging.getLogger("porism.web")
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


def click_rates(report: Report) -> list[tuple[PositionCount, float]]:
    """Return the first ten positions with the share of their impressions that were clicked."""
    return [(one, one.clicks / one.impressions if one.impressions else 0.0) for one in report.positions[:10]]


async def analytics_page(request: Request) -> Response:
    """Show the operator what is searched and clicked."""
    settings: Operations = request.app.state.operations
    check_operator(request, settings)
    recorder: Recorder = request.app.state.recorder
    await run_in_threadpool(recorder.flush, everything=False)
    report = await run_in_threadpool(read_report, recorder.path)
    return render(request, "analytics.html", report=report, rates=click_rates(report))


ROUTES = [Route("/go", go, methods=["GET"]), Route("/analytics", analytics_page, methods=["GET"])]
