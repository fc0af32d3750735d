"""Search analytics on the pages: links that count clicks, and the operator's page."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from porism.search.analytics.report import PositionCount, Report, read_report
from porism.search.analytics.store import MOST_POSITION, Click, ShownHit
from porism.web.api.parameters import Parameter, parse_parameters
from porism.web.operations.exposition import check_operator
from porism.web.operations.recorder import Recorder
from porism.web.operations.settings import Operations
from porism.web.pages.routes import POST_TABS, TAB, TEXT, SearchState, render

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


def routes() -> list[Route]:
    """Return the routes of analytics, which exist only where they are switched on."""
    return [Route("/go", go, methods=["GET"]), Route("/analytics", analytics_page, methods=["GET"])]
