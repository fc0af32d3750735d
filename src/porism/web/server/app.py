"""The search application: an engine with its API, its pages, and the middleware around them."""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from porism.errors import PorismError
from porism.search.engine import Engine
from porism.web.api import views
from porism.web.api.changes import UPLOADS, WriteAccess
from porism.web.api.results import QuerySlots, ResponseCache
from porism.web.http.middleware import LOOPBACK, REMOTE_IMAGES, RequestMiddleware
from porism.web.http.requests import CODES, BadRequest, error_body, shown_error
from porism.web.pages import api_page, exports, figures, frames, search, thread_page
from porism.web.pages.attribution import attribution_of
from porism.web.pages.frames import has_editor
from porism.web.pages.page import TEMPLATE_FILTERS, render
from porism.web.pages.search import Generations
from porism.web.pages.thread_page import ThreadOptions
from porism.web.server import served_index
from porism.web.server.served_index import DamageGate, IntegrityCheck
from porism.web.site import look
from porism.web.site.access import AccessGate
from porism.web.site.look import look_of
from porism.web.site.settings import SiteSettings

DEFAULT_SITE = SiteSettings()


class SiteLink(NamedTuple):
    """A link in the header of every page."""

    title: str
    address: str


# The links by their names in the settings (pages.menu).
LINKS = {
    "search": SiteLink("Search", "/"),
    "statistics": SiteLink("Statistics", "/stats"),
    "ask": SiteLink("Similar questions", "/ask-box"),
    "api": SiteLink("API", "/api"),
}


def create_app(
    engine: Engine,
    site: SiteSettings = DEFAULT_SITE,
    *,
    hosts: Sequence[str] = LOOPBACK,
    check: IntegrityCheck | None = None,
    writing: WriteAccess | None = None,
) -> Starlette:
    """Create the server around an engine. `site` has the settings of its owner. `hosts` are the names under which the
    server answers, so that a foreign page cannot reach a loopback server under its own name. Once `check` finds damaged
    files, requests are refused. With `writing`, the server takes changes."""
    integrity = check or IntegrityCheck()
    cors, experiment = site.server.cors, site.pages.experiment
    middleware = [
        Middleware(
            RequestMiddleware,
            on_error=answer_error,
            headers=REMOTE_IMAGES if site.posts.remote_images else None,
            uploads=UPLOADS if writing else None,
        ),
        Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)),
        *([Middleware(AccessGate, site=site)] if site.access.header or site.access.users else []),
        Middleware(DamageGate, check=integrity),
    ]
    if cors:
        middleware.append(Middleware(CORSMiddleware, allow_origins=list(cors), allow_methods=["GET"]))
    handlers = {BadRequest: answer_error, PorismError: answer_error, HTTPException: answer_error}
    routes = [
        *views.ROUTES,
        *search.ROUTES,
        *figures.routes(bool(experiment)),
        *thread_page.ROUTES,
        *exports.ROUTES,
        *frames.routes(),
        *api_page.ROUTES,
        *served_index.ROUTES,
        *look.ROUTES,
        Mount("/static", StaticFiles(directory=str(importlib.resources.files("porism.web") / "static"))),
    ]
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)
    app.state.engine, app.state.seconds, app.state.integrity = engine, site.limits.seconds, integrity
    app.state.writing = writing
    app.state.has_editor = has_editor()
    app.state.thread_options = ThreadOptions(attribution_of(engine.content, site.posts), site.posts.remote_images)
    app.state.site, app.state.look = site, look_of(site)
    app.state.cache = ResponseCache()
    app.state.generations = Generations()
    app.state.slots = QuerySlots(waiting=site.limits.queue)
    app.state.templates = make_templates()
    app.state.site_links = [
        *(LINKS[name] for name in site.pages.menu),
        *([SiteLink("Leaderboard", "/leaderboard")] if experiment else []),
        *([SiteLink("Assessment", site.pages.assess_url)] if site.pages.assess_url else []),
    ]
    return app


def make_templates() -> Environment:
    """Load the templates with their filters. Every value is escaped unless it is markup already."""
    templates = Environment(
        loader=PackageLoader("porism.web"), autoescape=select_autoescape(), trim_blocks=True, lstrip_blocks=True
    )
    templates.filters.update(TEMPLATE_FILTERS)
    return templates


# The titles of pages that report an error, by its code.
TITLES = {
    "not_found": "Not found",
    "not_allowed": "Not allowed",
    "too_large": "Too large",
    "bad_request": "The request is not valid",
    "busy": "The server is busy",
    "too_slow": "The query took too long",
    "damaged": "Damaged",
    "unavailable": "Not available",
}


async def answer_error(request: Request, error: Exception) -> Response:
    """Return an error as JSON for the API, or as a page."""
    is_api, request_id = request.url.path.startswith("/v1/"), request.state.request_id
    if isinstance(error, HTTPException):
        status = error.status_code if error.status_code in CODES else 404
        path = request.url.path[:80]
        message = f"there is no endpoint {request.method} {path}" if is_api else f"there is no page {path}"
        fix = "see the list at /api" if is_api else "check the address, or search"
        error = BadRequest(message, fix=fix, status=status)
    status, code, found, headers = shown_error(request, error)
    if is_api:
        return JSONResponse(error_body(code, found.message, found.where, found.fix, request_id), status, headers)
    message = found.message
    if found.where and message.startswith(f"{found.where} "):
        message = f"“{found.where}”{message.removeprefix(found.where)}"
    page = render(
        request,
        "error.html",
        status,
        title=TITLES.get(code, "Something went wrong"),
        message=message,
        fix="try again, or report it with the request id below" if code == "internal" else found.fix,
        request_id=request_id,
    )
    page.headers.update(headers)
    return page
