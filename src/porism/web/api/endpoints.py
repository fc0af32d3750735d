"""The endpoints of the API as a table, and the routes that serve them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from porism.records import Explanation
from porism.search.completion import Completions
from porism.search.display.results import Extract, FormulaResults, Results
from porism.web.api import views
from porism.web.api.parameters import Parameter, parse_parameters
from porism.web.api.run_view import run_view
from porism.web.api.schema import encode


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One route of the API: the view that answers it, the record it returns, and its parameters."""

    path: str
    view: Callable[..., Any]
    result: type
    parameters: tuple[Parameter, ...] = ()


ID = Parameter("id", "the id of a post or thread, as a search returns it", int, required=True, high=2**53)
PATH_ID = Parameter(
    "id", "the id of a post or thread, as a search returns it", int, required=True, high=2**53, location="path"
)

ENDPOINTS = (
    Endpoint(
        "/v1/search",
        views.search,
        Results,
        (views.Q, *views.PAGE, *views.FILTERS, views.SORT, views.GROUP, views.EXPAND, *views.READING),
    ),
    Endpoint("/v1/asked", views.asked, Results, views.ASKED),
    Endpoint("/v1/formulas", views.formulas, FormulaResults, (views.Q, *views.PAGE, views.MODE)),
    Endpoint("/v1/ask", views.ask, Extract, (views.Q, views.GENERATE)),
    Endpoint("/v1/explain", views.explain, Explanation, (views.Q, ID)),
    Endpoint("/v1/complete", views.complete, Completions, (views.Q, views.COMPLETIONS)),
    Endpoint("/v1/preview", views.preview, views.Preview, (views.Q,)),
    Endpoint("/v1/formula", views.formula, views.FormulaView, (views.Q,)),
    Endpoint("/v1/posts/{id}", views.post, views.PostView, (PATH_ID,)),
    Endpoint("/v1/threads/{id}", views.thread, views.ThreadView, (PATH_ID,)),
    Endpoint("/v1/health", views.health, views.Health),
)


def handler(endpoint: Endpoint) -> Callable[[Request], Any]:
    """Return the function that serves an endpoint."""

    async def serve(request: Request) -> Response:
        given = dict(request.query_params) | {name: str(value) for name, value in request.path_params.items()}
        record = await run_view(request, endpoint.view, parse_parameters(endpoint.parameters, given))
        body = encode({"ok": True, "data": record, "request_id": request.state.request_id})
        return Response(body, media_type="application/json")

    return serve


async def openapi_document(request: Request) -> Response:
    """Serve the OpenAPI document."""
    from porism.web.api.openapi import document_as_json

    return Response(document_as_json(), media_type="application/json")


def routes() -> list[Route]:
    """Return all routes of the API."""
    return [Route(endpoint.path, handler(endpoint), methods=["GET"]) for endpoint in ENDPOINTS] + [
        Route("/v1/openapi.json", openapi_document, methods=["GET"])
    ]
