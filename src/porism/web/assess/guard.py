"""What every request of the assessment server passes: session, role and form token; and what its limits and headers are."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from porism.errors import PorismError
from porism.lab.judging.accounts import Session, session_of
from porism.web.assess.room import Room
from porism.web.server.limits import SAFE

COOKIE = "porism_session"
LOGIN_COOKIE = "porism_login"
FORM_LIMIT = 1 << 20
UPLOAD_LIMIT = 64 << 20
# Stricter than the search pages: no picture from data, and no other site's page may hold or read one of these.
HEADERS = {
    "content-security-policy": SAFE["content-security-policy"].replace(" data:", ""),
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Refused(Exception):
    """A request that is not allowed: the status and what to tell the person."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of one person: what a page needs to answer it."""

    room: Room
    request: Request
    session: Session | None
    form: FormData

    @property
    def name(self) -> str:
        """Who asks."""
        return self.session.account if self.session else ""

    def number(self, name: str) -> int:
        """A number of the address; one that no database holds names nothing."""
        value = int(self.request.path_params[name])
        if value >= 1 << 62:
            raise Refused(404, "There is no such page.")
        return value

    def text(self, name: str, default: str = "") -> str:
        """A text field of the form, with plain line ends."""
        value = self.form.get(name, default)
        return default if isinstance(value, UploadFile) else str(value).replace("\r\n", "\n")

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Answer with a page."""
        return self.room.page(template, self.session, status, **values)


Handler = Callable[[Visit], Response]


def door(handler: Handler, *roles: str) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of a handler: only these roles pass (none named: everyone), and no form without its token."""

    async def endpoint(request: Request) -> Response:
        form = await request.form() if request.method == "POST" else FormData()
        return await run_in_threadpool(_answer, handler, roles, request, form)

    return endpoint


def _answer(handler: Handler, roles: tuple[str, ...], request: Request, form: FormData) -> Response:
    room: Room = request.app.state.room
    session = session_of(room.journal, request.cookies.get(COOKIE, ""))
    visit = Visit(room, request, session, form)
    try:
        if roles and session is None:
            return RedirectResponse("/login", 303)
        if roles and session is not None and session.role not in roles:
            raise Refused(403, "This page is not for you.")
        if request.method == "POST":
            _check_token(visit)
        return handler(visit)
    except Refused as refused:
        return visit.page("error.html", refused.status, message=refused.message, fix="")
    except PorismError as error:
        return visit.page("error.html", 422, message=error.message, fix=error.fix)


def _check_token(visit: Visit) -> None:
    """The form's token is the session's (or, before login, that of the login page's cookie)."""
    wanted = visit.session.csrf if visit.session else visit.request.cookies.get(LOGIN_COOKIE, "")
    given = visit.text("csrf") or visit.request.headers.get("X-CSRF", "")
    if not wanted or not hmac.compare_digest(wanted.encode(), given.encode()):
        raise Refused(403, "The form is out of date: load the page again.")
