"""The application: an engine, its API, its pages, and the limits around them."""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence
from pathlib import Path

import anyio
from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from porism.errors import PorismError
from porism.search.engine import Engine
from porism.web.api import endpoints as api
from porism.web.api.parameters import BadRequest
from porism.web.pages import routes as pages
from porism.web.pages import show
from porism.web.pages.leaderboard import leaderboard
from porism.web.server.limits import Limits
from porism.web.server.memory import MOST, Memory

SITE = (("Search", "/"), ("Statistics", "/stats"), ("API", "/v1/openapi.json"))
THREADS = 4  # queries of one process at work at once; more would only take turns
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def create_app(
    engine: Engine,
    *,
    cors: Sequence[str] = (),
    seconds: float = 10.0,
    hosts: Sequence[str] = LOOPBACK,
    assess_url: str = "",
    experiment: Path | None = None,
    remembered: int = MOST,
) -> Starlette:
    """The whole server around an engine.

    `cors` names the origins that may call the API from a browser; `hosts` the names under which the server answers (so that a foreign
    page cannot reach a loopback server under its own name); `seconds` limits a query; `remembered` is how many answers are kept.
    """
    middleware = [Middleware(Limits), Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))]
    if cors:
        middleware.append(Middleware(CORSMiddleware, allow_origins=list(cors), allow_methods=["GET"]))
    static = importlib.resources.files("porism.web") / "static"
    routes = [*api.routes(), *pages.routes(), Mount("/static", StaticFiles(directory=str(static)))]
    if experiment:
        routes.append(Route("/leaderboard", leaderboard))
    handlers = {
        BadRequest: answer_error,
        PorismError: answer_error,
        HTTPException: answer_error,
        Exception: answer_error,
    }
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)
    app.state.engine, app.state.seconds, app.state.experiment = engine, seconds, experiment
    app.state.memory = Memory(remembered)
    app.state.limiter = anyio.CapacityLimiter(THREADS)
    app.state.templates = make_templates()
    app.state.site_links = [
        *SITE,
        *([("Leaderboard", "/leaderboard")] if experiment else []),
        *([("Assessment", assess_url)] if assess_url else []),
    ]
    return app


def make_templates() -> Environment:
    """The templates with their filters; every value is escaped unless it is markup already."""
    made = Environment(
        loader=PackageLoader("porism.web"), autoescape=select_autoescape(), trim_blocks=True, lstrip_blocks=True
    )
    made.filters.update(show.FILTERS)
    return made


TITLES = {
    404: "Not found",
    405: "Not allowed",
    413: "Too large",
    422: "That cannot be answered",
    503: "That took too long",
}


async def answer_error(request: Request, error: Exception) -> Response:
    """An error as JSON for the API and as a page for people."""
    of_api = request.url.path.startswith("/v1/")
    if isinstance(error, HTTPException):
        status = error.status_code if error.status_code in api.CODES else 404
        path = request.url.path[:80]
        message = f"{request.method} {path} is not served here" if of_api else f"there is no page {path}"
        fix = "see /v1/openapi.json for what can be asked" if of_api else "check the address, or search"
        error = BadRequest(message, fix=fix, status=status)
    if of_api:
        return api.error_response(request, error)
    body = api.error_response(request, error)  # logs what was not foreseen
    message, fix = "the server failed on this request", "try again, or report it with its number"
    if isinstance(error, (BadRequest, PorismError)):
        message, fix = error.message, error.fix
        if error.where and message.startswith(f"{error.where} "):
            message = f"“{error.where}”{message.removeprefix(error.where)}"
    status = body.status_code
    title = TITLES.get(status, "Something went wrong")
    return pages.render(
        request, "error.html", status, title=title, message=message, fix=fix, request_id=request.state.request_id
    )
