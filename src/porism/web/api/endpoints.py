"""The HTTP interface: a table of routes; one shape of success, one shape of error."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from porism.errors import PorismError
from porism.records import Explanation
from porism.search.display.results import Extract, FormulaResults, Results
from porism.web.api import views
from porism.web.api.parameters import BadRequest, Parameter, read_parameters
from porism.web.api.schema import encode
from porism.web.server.limits import error_body

LOG = logging.getLogger("porism.web")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One route of the API: what it answers, with which parameters, as which record."""

    path: str
    view: Callable[..., Any]
    result: type
    parameters: tuple[Parameter, ...] = ()


ID = Parameter("id", "an id that a search returned", int, required=True, high=2**53)
IN_PATH = Parameter("id", "an id that a search returned", int, required=True, high=2**53, place="path")

ENDPOINTS = (
    Endpoint("/v1/search", views.search, Results, (views.Q, *views.PAGE, *views.FILTERS)),
    Endpoint("/v1/formulas", views.formulas, FormulaResults, (views.Q, *views.PAGE, views.MODE)),
    Endpoint("/v1/ask", views.ask, Extract, (views.Q,)),
    Endpoint("/v1/explain", views.explain, Explanation, (views.Q, ID)),
    Endpoint("/v1/preview", views.preview, views.Preview, (views.Q,)),
    Endpoint("/v1/formula", views.formula, views.FormulaView, (views.Q,)),
    Endpoint("/v1/posts/{id}", views.post, views.PostView, (IN_PATH,)),
    Endpoint("/v1/threads/{id}", views.thread, views.ThreadView, (IN_PATH,)),
    Endpoint("/v1/health", views.health, views.Health),
)


# Views whose answers are kept: they take time, and the same is asked again (a second page, a step back, a popular question).
KEPT = frozenset((views.search, views.formulas))


async def call(request: Request, view: Callable[..., Any], values: dict[str, Any]) -> Any:
    """A view's answer: remembered, or computed in a thread, within the time limit.

    A thread cannot be stopped from outside; the limit frees the caller, and the number of threads at work is bounded, so slow
    queries cannot pile up.
    """
    state = request.app.state
    key = state.memory.key(view, values) if view in KEPT else None
    if key is not None and (known := state.memory.recall(key)) is not None:
        return known
    try:
        with anyio.fail_after(state.seconds):
            work = functools.partial(view, state.engine, **values)
            made = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=state.limiter)
            if key is not None:
                state.memory.keep(key, made)
            return made
    except TimeoutError:
        fix = "ask for less: fewer formulas, a shorter text"
        raise BadRequest(f"the query took longer than {state.seconds:g} seconds", fix=fix, status=503) from None


def handler(endpoint: Endpoint) -> Callable[[Request], Any]:
    """The function that serves one endpoint."""

    async def serve(request: Request) -> Response:
        given = dict(request.query_params) | {k: str(v) for k, v in request.path_params.items()}
        record = await call(request, endpoint.view, read_parameters(endpoint.parameters, given))
        body = encode({"ok": True, "data": record, "request_id": request.state.request_id})
        return Response(body, media_type="application/json")

    return serve


async def describe(request: Request) -> JSONResponse:
    """The OpenAPI document."""
    from porism.web.api.openapi import document

    return JSONResponse(document())


def routes() -> list[Route]:
    """All routes of the API."""
    return [Route(e.path, handler(e), methods=["GET"]) for e in ENDPOINTS] + [
        Route("/v1/openapi.json", describe, methods=["GET"])
    ]


CODES = {404: "not_found", 405: "not_allowed", 413: "too_large", 422: "bad_request", 503: "too_slow"}


def error_response(request: Request, error: Exception) -> JSONResponse:
    """Any error in the one shape; an unforeseen one is logged with its request id and tells no inner detail."""
    request_id = getattr(request.state, "request_id", "")
    if isinstance(error, BadRequest):
        body = error_body(CODES[error.status], error.message, error.where, error.fix, request_id)
        return JSONResponse(body, status_code=error.status)
    if isinstance(error, PorismError):
        return JSONResponse(
            error_body("bad_request", error.message, error.where, error.fix, request_id), status_code=422
        )
    LOG.exception("%s failed", request_id)
    body = error_body(
        "internal", "the server failed on this request", "", f"report it with the request id {request_id}", request_id
    )
    return JSONResponse(body, status_code=500)
