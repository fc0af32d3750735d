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
from porism.web.api import changes, views
from porism.web.api.results import run_view
from porism.web.api.write_access import READ_ONLY, WriteAccess
from porism.web.http.parameters import Parameter, parse_parameters
from porism.web.http.schema import encode, schema_of


@dataclass(frozen=True, slots=True)
class ApiEndpoint:
    """One route of the API: the view that answers it, the record it returns, its parameters, its kind of body.

    A view of the engine runs in a slot. One with `scopes` is a call to a server that takes changes, with a token.
    """

    path: str
    view: Callable[..., Any]
    result: type
    parameters: tuple[Parameter, ...] = ()
    method: str = "GET"
    scopes: tuple[str, ...] | None = None
    body: str = ""

    @property
    def summary(self) -> str:
        """What the endpoint does."""
        return " ".join((self.view.__doc__ or "").split())


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


POST_ID = Parameter("id", "the id of the post", int, required=True, low=1, high=10**15, location="path")
WAIT = Parameter("wait", "seconds to wait until every search finds the change", int, 0, low=0, high=30)
LINES, ACCEPTED = "application/x-ndjson", changes.Accepted
CHANGES = (
    ApiEndpoint("/v1/posts/{id}", changes.put_post, ACCEPTED, (POST_ID, WAIT), "PUT", ("write",), "application/json"),
    ApiEndpoint("/v1/posts/{id}", changes.delete_post, ACCEPTED, (POST_ID, WAIT), "DELETE", ("delete",)),
    ApiEndpoint("/v1/posts", changes.change_posts, ACCEPTED, (WAIT,), "POST", (), LINES),
    ApiEndpoint("/v1/merge", changes.request_merge, changes.MergeRequested, (), "POST", ("merge",)),
    ApiEndpoint("/v1/log", changes.log_status, changes.LogStatus, scopes=()),
)


def handler(endpoint: ApiEndpoint) -> Callable[[Request], Any]:
    """Return the function that serves an endpoint. A token is checked before the body is read."""

    async def serve(request: Request) -> Response:
        given = dict(request.query_params) | {name: str(value) for name, value in request.path_params.items()}
        if endpoint.scopes is None:
            record = await run_view(request, endpoint.view, parse_parameters(endpoint.parameters, given))
        else:
            access: WriteAccess | None = request.app.state.writing
            if access is None:
                raise READ_ONLY
            access.authorise(request, endpoint.scopes)
            record = await endpoint.view(request, access, **parse_parameters(endpoint.parameters, given))
        waits = endpoint.method != "GET" and not getattr(record, "searchable", False)
        body = encode({"ok": True, "data": record, "request_id": request.state.request_id})
        return Response(body, 202 if waits else 200, media_type="application/json")

    return serve


async def openapi_document(request: Request) -> Response:
    """Serve the OpenAPI document."""

    return Response(document_as_json(), media_type="application/json")


ROUTES = [
    *(Route(one.path, handler(one), methods=[one.method]) for one in (*ENDPOINTS, *CHANGES)),
    Route("/v1/openapi.json", openapi_document, methods=["GET"]),
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
    """Describe one endpoint: its summary, parameters and responses; of a change also its token and its body."""
    data = schema_of(endpoint.result, definitions)
    success = {
        "type": "object",
        "properties": {"ok": {"const": True}, "data": data, "request_id": STRING},
        "required": ["ok", "data", "request_id"],
    }
    changing = endpoint.scopes is not None
    responses = {"200": {"description": "The result.", "content": json_body(success)}}
    for status, text in (ERROR_STATUSES | (WRITE_STATUSES if changing else {})).items():
        responses[status] = {"description": text, "content": json_body({"$ref": "#/components/schemas/Error"})}
    described: dict[str, Any] = {
        "operationId": endpoint.view.__name__,
        "summary": endpoint.summary,
        "parameters": [parameter.openapi() for parameter in endpoint.parameters],
        "responses": responses,
    }
    if endpoint.method != "GET":
        responses["202"] = responses["200"] | {"description": "Stored; applied soon."}
    if endpoint.body:
        described["requestBody"] = {"required": True, "content": {endpoint.body: {"schema": STRING}}}
    return described | ({"security": [{"token": []}]} if changing else {})


def document() -> dict[str, Any]:
    """Return the whole OpenAPI document."""
    definitions: dict[str, Any] = {"Error": ERROR}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in (*ENDPOINTS, *CHANGES):
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation(endpoint, definitions)
    description = "Search for text and formulas. Within a version, keys are only added, never changed or removed."
    info = {"title": "Porism", "version": __version__, "description": description}
    components = {"schemas": definitions, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": components}


@cache
def document_as_json() -> bytes:
    """Return the OpenAPI document as it is served; it takes milliseconds to make, and never changes."""
    return json.dumps(document()).encode()
