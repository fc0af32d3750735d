"""The endpoints of the API as a table, the routes that serve them, and the OpenAPI document that is made from both."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from porism import __version__
from porism.records import Explanation
from porism.search.completion import Completions
from porism.search.display.results import Extract, FormulaResults, Results
from porism.web.api import views
from porism.web.api.changes import CALLS, WriteCall
from porism.web.api.results import run_view
from porism.web.http.parameters import Parameter, parse_parameters
from porism.web.http.schema import encode, schema_of


@dataclass(frozen=True, slots=True)
class ApiEndpoint:
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
    ApiEndpoint(
        "/v1/search",
        views.search,
        Results,
        (views.Q, *views.PAGE, *views.FILTERS, views.SORT, views.GROUP, views.EXPAND, *views.READING),
    ),
    ApiEndpoint("/v1/asked", views.asked, Results, views.ASKED),
    ApiEndpoint("/v1/formulas", views.formulas, FormulaResults, (views.Q, *views.PAGE, views.MODE)),
    ApiEndpoint("/v1/ask", views.ask, Extract, (views.Q, views.GENERATE)),
    ApiEndpoint("/v1/explain", views.explain, Explanation, (views.Q, ID)),
    ApiEndpoint("/v1/complete", views.complete, Completions, (views.Q, views.COMPLETIONS)),
    ApiEndpoint("/v1/preview", views.preview, views.Preview, (views.Q,)),
    ApiEndpoint("/v1/formula", views.formula, views.FormulaView, (views.Q,)),
    ApiEndpoint("/v1/posts/{id}", views.post, views.PostView, (PATH_ID,)),
    ApiEndpoint("/v1/threads/{id}", views.thread, views.ThreadView, (PATH_ID,)),
    ApiEndpoint("/v1/health", views.health, views.Health),
)


def handler(endpoint: ApiEndpoint) -> Callable[[Request], Any]:
    """Return the function that serves an endpoint."""

    async def serve(request: Request) -> Response:
        given = dict(request.query_params) | {name: str(value) for name, value in request.path_params.items()}
        record = await run_view(request, endpoint.view, parse_parameters(endpoint.parameters, given))
        body = encode({"ok": True, "data": record, "request_id": request.state.request_id})
        return Response(body, media_type="application/json")

    return serve


async def openapi_document(request: Request) -> Response:
    """Serve the OpenAPI document."""

    return Response(document_as_json(), media_type="application/json")


def routes() -> list[Route]:
    """Return all routes of the API."""
    return [Route(endpoint.path, handler(endpoint), methods=["GET"]) for endpoint in ENDPOINTS] + [
        Route("/v1/openapi.json", openapi_document, methods=["GET"])
    ]


STRING = {"type": "string"}
ERROR = {
    "type": "object",
    "description": "What is wrong, where, and how to fix it.",
    "properties": {
        "ok": {"const": False},
        "error": {
            "type": "object",
            "properties": {"code": STRING, "message": STRING, "where": STRING, "fix": STRING},
            "required": ["code", "message", "where", "fix"],
        },
        "request_id": STRING,
    },
    "required": ["ok", "error", "request_id"],
}
ERROR_STATUSES = {
    "404": "There is no such post, thread or endpoint.",
    "413": "The request is too large.",
    "422": "A parameter is missing or wrong.",
    "503": "The query took too long, or the collection cannot be reached.",
}
# Of the calls that change the index, besides.
WRITE_STATUSES = {
    "401": "The token is missing, wrong or revoked.",
    "403": "The token lacks a scope.",
    "405": "The server takes no changes.",
    "429": "The server is busy, or too many changes wait.",
    "507": "The change cannot be stored: the disk is full.",
}


def json_body(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON body with this schema."""
    return {"application/json": {"schema": schema}}


def operation(endpoint: ApiEndpoint, definitions: dict[str, Any]) -> dict[str, Any]:
    """Describe one endpoint: its summary, parameters and responses."""
    data = schema_of(endpoint.result, definitions)
    success = {
        "type": "object",
        "properties": {"ok": {"const": True}, "data": data, "request_id": STRING},
        "required": ["ok", "data", "request_id"],
    }
    errors = {
        status: {"description": description, "content": json_body({"$ref": "#/components/schemas/Error"})}
        for status, description in ERROR_STATUSES.items()
    }
    return {
        "operationId": endpoint.view.__name__,
        "summary": " ".join((endpoint.view.__doc__ or "").split()),
        "parameters": [parameter.openapi() for parameter in endpoint.parameters],
        "responses": {"200": {"description": "The result.", "content": json_body(success)}, **errors},
    }


def write_operation(call: WriteCall, definitions: dict[str, Any]) -> dict[str, Any]:
    """Describe one call that changes the index: as the others, with its token, its body, and the answer "accepted"."""
    described = operation(ApiEndpoint(call.path, call.view, call.result, call.parameters), definitions)
    errors = {
        status: {"description": text, "content": json_body({"$ref": "#/components/schemas/Error"})}
        for status, text in WRITE_STATUSES.items()
    }
    described["responses"] |= errors
    if call.method != "GET":
        described["responses"]["202"] = described["responses"]["200"] | {"description": "Stored; applied soon."}
    if call.body:
        described["requestBody"] = {"required": True, "content": {call.body: {"schema": STRING}}}
    return described | {"security": [{"token": []}]}


def document() -> dict[str, Any]:
    """Return the whole OpenAPI document."""
    definitions: dict[str, Any] = {"Error": ERROR}
    paths = {endpoint.path: {"get": operation(endpoint, definitions)} for endpoint in ENDPOINTS}
    for call in CALLS:
        paths.setdefault(call.path, {})[call.method.lower()] = write_operation(call, definitions)
    description = "Search for text and formulas. Within a version, keys are only added, never changed or removed."
    info = {"title": "Porism", "version": __version__, "description": description}
    components = {"schemas": definitions, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": components}


@cache
def document_as_json() -> bytes:
    """Return the OpenAPI document as it is served; it takes milliseconds to make, and never changes."""
    return json.dumps(document()).encode()
