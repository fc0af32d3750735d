"""The calls that change an index as a table, with their routes. A server that takes no changes has them, too, and says so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from porism.web.api.parameters import Parameter, parse_parameters
from porism.web.api.schema import encode
from porism.web.writing import calls
from porism.web.writing.access import READ_ONLY, WriteAccess

PATH_ID = Parameter("id", "the id of the post", int, required=True, low=1, high=10**15, location="path")
WAIT = Parameter("wait", "seconds to wait until every search finds the change", int, 0, low=0, high=30)


@dataclass(frozen=True, slots=True)
class WriteCall:
    """A call that changes an index: its method, path and view, the scopes that its token needs, its result, parameters and body."""

    method: str
    path: str
    view: Callable[..., Awaitable[Any]]
    result: type
    scopes: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    body: str = ""  # media type


CALLS = (
    WriteCall("PUT", "/v1/posts/{id}", calls.put_post, calls.Accepted, ("write",), (PATH_ID, WAIT), "application/json"),
    WriteCall("DELETE", "/v1/posts/{id}", calls.delete_post, calls.Accepted, ("delete",), (PATH_ID, WAIT)),
    WriteCall("POST", "/v1/posts", calls.change_posts, calls.Accepted, (), (WAIT,), "application/x-ndjson"),
    WriteCall("POST", "/v1/merge", calls.request_merge, calls.MergeRequested, ("merge",)),
    WriteCall("GET", "/v1/log", calls.log_status, calls.LogStatus),
)
# Bodies that may be larger than those of other requests, by path.
UPLOADS = {"/v1/posts": calls.MOST_BULK}
DONE, LATER = 200, 202


def handler(call: WriteCall) -> Callable[[Request], Any]:
    """Return the function that serves a call. The token is checked before the body is read."""

    async def serve(request: Request) -> Response:
        access: WriteAccess | None = request.app.state.writing
        if access is None:
            raise READ_ONLY
        token = access.authorise(request, call.scopes)
        given = dict(request.query_params) | {name: str(value) for name, value in request.path_params.items()}
        record = await call.view(request, access, token, **parse_parameters(call.parameters, given))
        body = encode({"ok": True, "data": record, "request_id": request.state.request_id})
        done = call.method == "GET" or getattr(record, "searchable", False)
        return Response(body, DONE if done else LATER, media_type="application/json")

    return serve


def routes() -> list[Route]:
    """Return the routes of all calls."""
    return [Route(call.path, handler(call), methods=[call.method]) for call in CALLS]
