"""The assessment server as one application."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from porism.corpus.store.collection import Collection
from porism.lab.judging.content import Content
from porism.lab.judging.journal import Journal
from porism.lab.submissions import Desk
from porism.web.assess import entrance, handin, judge, organise, people, reading, topic_pages
from porism.web.assess.guard import FORM_LIMIT, HEADERS, UPLOAD_LIMIT, door
from porism.web.assess.room import Room
from porism.web.server.limits import Limits

ASSESSOR, ORGANISER, TEAM = "assessor", "organiser", "team"
UPLOAD = "/submissions"


def _not_found(request: Request, error: Exception) -> Response:
    room: Room = request.app.state.room
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 405:
        return PlainTextResponse("This address does not take that method.", 405)
    message = "There is no such page." if status == 404 else "The request cannot be understood."
    return room.page("error.html", None, status, message=message, fix="go back to the start page")


def _get(path: str, handler: object, *roles: str) -> Route:
    return Route(path, door(handler, *roles), methods=["GET"])  # type: ignore[arg-type]


def _post(path: str, handler: object, *roles: str) -> Route:
    return Route(path, door(handler, *roles), methods=["POST"])  # type: ignore[arg-type]


# The whole server at a glance: address, page, who may come.
ROUTES = [
    _get("/", entrance.home),
    _get("/login", entrance.login_page),
    _post("/login", entrance.login),
    _post("/logout", entrance.logout, ASSESSOR, ORGANISER, TEAM),
    _get("/instructions", reading.instructions, ASSESSOR, ORGANISER),
    _get("/thread/{thread:int}", reading.thread, ASSESSOR, ORGANISER),
    _get("/topic-thread/{job:int}", reading.topic_thread, ASSESSOR),
    _get("/topic/{job:int}", topic_pages.topic, ASSESSOR),
    _post("/topic/{job:int}", topic_pages.save_topic, ASSESSOR),
    _get("/list/{job:int}", topic_pages.listing, ASSESSOR),
    _get("/prefer/{job:int}", topic_pages.prefer, ASSESSOR),
    _post("/prefer/{job:int}", topic_pages.save_prefer, ASSESSOR),
    _get("/judge/{job:int}", judge.resume, ASSESSOR),
    _get("/judge/{job:int}/{place:int}", judge.show, ASSESSOR),
    _post("/judge/{job:int}/{place:int}", judge.save, ASSESSOR),
    _post("/judge/{job:int}/{place:int}/click", judge.click, ASSESSOR),
    _get("/organise", organise.overview, ORGANISER),
    _get("/organise/agreement", organise.agreement_page, ORGANISER),
    _get("/organise/disagreements", organise.disagreements_page, ORGANISER),
    _get("/organise/item/{key}", organise.item, ORGANISER),
    _get("/organise/export", organise.export_page, ORGANISER),
    _get("/organise/export/{name}", organise.export_file, ORGANISER),
    _get("/organise/people", people.people_page, ORGANISER),
    _post("/organise/people", people.add_person, ORGANISER),
    _post("/organise/assign", people.assign, ORGANISER),
    _get("/submissions", handin.submissions, TEAM, ORGANISER),
    _post("/submissions", handin.hand_in, TEAM),
    _post("/submissions/withdraw", handin.withdraw, TEAM),
    _get("/submissions/{receipt:int}", handin.receipt, TEAM, ORGANISER),
    # The mathematics font of the search pages.
    Mount("/shared", StaticFiles(directory=Path(__file__).parents[1] / "static")),
    Mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static"),
]


def create_app(
    journal: Journal,
    content: Content,
    desk: Desk | None = None,
    *,
    topic_threads: Collection | None = None,
    secure: bool = False,
) -> Starlette:
    """The application. `secure` is for a server behind HTTPS: its cookies are then sent over HTTPS only."""
    limits = Middleware(
        Limits, max_body=FORM_LIMIT, uploads={UPLOAD: UPLOAD_LIMIT}, headers=HEADERS, kept=("/static/", "/shared/")
    )
    app = Starlette(
        routes=ROUTES,
        middleware=[limits],
        exception_handlers={HTTPException: _not_found},
    )
    app.state.room = Room.make(journal, content, desk, topic_threads, secure)
    return app
