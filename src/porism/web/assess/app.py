"""The assessment server as one application."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from porism.evaluate.runs.lookup import CollectionLookup
from porism.lab.judging.content import ContentRenderer
from porism.lab.judging.journal import Journal
from porism.lab.judging.verify import check_journal
from porism.lab.submissions import Submissions, topic_ids
from porism.store import open_content
from porism.web.assess import judge, organise, requests, submissions, topics
from porism.web.assess.requests import FORM_LIMIT, HEADERS, UPLOAD_LIMIT, AppContext, Handler, protected, thread_address
from porism.web.http.middleware import LOG, LOOPBACK, RequestMiddleware, log_address
from porism.web.http.workers import DEFAULTS, ServerSettings, Service, address_of, bind, supervise

ASSESSOR, ORGANISER, TEAM = "assessor", "organiser", "team"
UPLOAD = "/submissions"


def _error_page(request: Request, error: Exception) -> Response:
    context: AppContext = request.app.state.context
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 405:
        return PlainTextResponse("This address does not accept that method.", 405)
    message = "There is no such page." if status == 404 else "The server cannot read this request."
    return context.page("error.html", None, status, message=message, fix="go back to the start page")


async def _answer_error(request: Request, error: Exception) -> Response:
    """Log an unexpected error, and reveal no details."""
    LOG.error("%s failed", request.state.request_id, exc_info=error)
    context: AppContext = request.app.state.context
    fix = f"try again, or report it with the request id {request.state.request_id}"
    return context.page("error.html", None, 500, message="The server failed on this request.", fix=fix)


def _get(path: str, handler: Handler, *roles: str) -> Route:
    return Route(path, protected(handler, *roles), methods=["GET"])


def _post(path: str, handler: Handler, *roles: str) -> Route:
    return Route(path, protected(handler, *roles), methods=["POST"])


# The whole server at a glance: address, page, and the roles that may see it.
ROUTES = [
    _get("/", requests.home),
    _get("/login", requests.login_page),
    _post("/login", requests.login),
    _post("/logout", requests.logout, ASSESSOR, ORGANISER, TEAM),
    _get("/instructions", topics.instructions, ASSESSOR, ORGANISER),
    _get("/thread/{thread:number}", topics.thread, ASSESSOR, ORGANISER),
    _get("/topic-thread/{assignment:number}", topics.topic_thread, ASSESSOR),
    _get("/topic/{assignment:number}", topics.topic, ASSESSOR),
    _post("/topic/{assignment:number}", topics.save_topic, ASSESSOR),
    _get("/items/{assignment:number}", topics.item_list, ASSESSOR),
    _get("/preference/{assignment:number}", topics.preference, ASSESSOR),
    _post("/preference/{assignment:number}", topics.save_preference, ASSESSOR),
    _get("/judge/{assignment:number}", judge.resume, ASSESSOR),
    _get("/judge/{assignment:number}/{position:number}", judge.show, ASSESSOR),
    _post("/judge/{assignment:number}/{position:number}", judge.save, ASSESSOR),
    _post("/judge/{assignment:number}/{position:number}/click", judge.click, ASSESSOR),
    _post("/judge/{assignment:number}/{position:number}/question", judge.ask_question, ASSESSOR),
    _get("/organise", organise.overview, ORGANISER),
    _get("/organise/agreement", organise.agreement_page, ORGANISER),
    _get("/organise/stability", organise.stability_page, ORGANISER),
    _get("/organise/questions", judge.questions_page, ORGANISER),
    _post("/organise/questions/{assignment:number}/{key}", judge.answer_question, ORGANISER),
    _get("/organise/disagreements", organise.disagreements_page, ORGANISER),
    _get("/organise/item/{key}", organise.item, ORGANISER),
    _get("/organise/export", organise.export_page, ORGANISER),
    _get("/organise/export/{name}", organise.export_file, ORGANISER),
    _get("/organise/people", organise.people_page, ORGANISER),
    _post("/organise/people", organise.add_person, ORGANISER),
    _post("/organise/assign", organise.assign, ORGANISER),
    _get("/submissions", submissions.overview, TEAM, ORGANISER),
    _post("/submissions", submissions.submit, TEAM),
    _post("/submissions/withdraw", submissions.withdraw, TEAM),
    _get("/submissions/{receipt:number}", submissions.receipt, TEAM, ORGANISER),
    # The font and style of formulas, shared with the search pages.
    Mount("/shared", StaticFiles(directory=Path(__file__).parents[1] / "static")),
    Mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static"),
]


def create_app(context: AppContext, hosts: Sequence[str] = LOOPBACK) -> Starlette:
    """Create the application. It answers under the names in `hosts` only, so that no foreign page can reach it."""
    around = Middleware(
        RequestMiddleware,
        max_body=FORM_LIMIT,
        uploads={UPLOAD: UPLOAD_LIMIT},
        headers=HEADERS,
        cacheable=("/static/", "/shared/"),
        on_error=_answer_error,
    )
    known_hosts = Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    app = Starlette(routes=ROUTES, middleware=[around, known_hosts], exception_handlers={HTTPException: _error_page})
    app.state.context = context
    return app


class AssessmentSettings(NamedTuple):
    """What the server needs to know. With a folder for submissions, teams can submit runs; `topics` are files to check
    them. `topic_threads` is a collection with the threads of the topics. `https`: a proxy on this machine serves HTTPS.
    `hosts` are names under which the server answers, besides those of this machine."""

    journal: str
    collection: str
    submissions: str | None = None
    topics: tuple[str, ...] = ()
    topic_threads: str | None = None
    https: bool = False
    hosts: tuple[str, ...] = ()
    in_order: bool = False


def open_app(settings: AssessmentSettings) -> Starlette:
    """Open a journal and a collection as an application. A damaged journal is refused."""
    check_journal(Path(settings.journal))
    content = ContentRenderer(open_content(settings.collection), thread_address)
    submitted = None
    if settings.submissions:
        ids = CollectionLookup(settings.collection)
        submitted = Submissions(Path(settings.submissions), topic_ids(settings.topics), ids)
    later = open_content(settings.topic_threads) if settings.topic_threads else None
    journal = Journal.open(settings.journal)
    context = AppContext(journal, content, submitted, later, settings.https, settings.in_order)
    return create_app(context, [*LOOPBACK, *settings.hosts])


def serve(settings: AssessmentSettings, host: str, port: int, server: ServerSettings = DEFAULTS) -> None:
    """Serve until SIGTERM or Ctrl-C; print the address to stderr."""
    with bind(host, port) as listener:
        address = address_of(listener, host)

        def announce(title: str) -> None:
            log_address(f"assessment at {address}", address, server.log_format)

        supervise(lambda: Service(open_app(settings)), (listener,), announce, server)
