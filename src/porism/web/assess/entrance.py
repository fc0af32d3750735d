"""Coming in and going out, and the first page of each role."""

from __future__ import annotations

import secrets

from starlette.responses import RedirectResponse, Response

from porism.errors import PorismError
from porism.lab.judging.accounts import log_in, log_out
from porism.lab.judging.queue import assignments, progress
from porism.web.assess.guard import COOKIE, LOGIN_COOKIE, Visit


def home(visit: Visit) -> Response:
    """An assessor's list of work; teams and organisers go to their own first page."""
    if visit.session is None:
        return RedirectResponse("/login", 303)
    if visit.session.role != "assessor":
        return RedirectResponse("/organise" if visit.session.role == "organiser" else "/submissions", 303)
    journal = visit.room.journal
    jobs = [(job, progress(journal, job)) for job in assignments(journal, visit.name)]
    following = next((job for job, state in jobs if state.next is not None), None)
    return visit.page("home.html", jobs=jobs, following=following)


def login_page(visit: Visit) -> Response:
    """The form, with a token of its own, since nobody is known yet."""
    return _login_form(visit, "", 200)


def _login_form(visit: Visit, problem: str, status: int) -> Response:
    token = secrets.token_urlsafe(24)
    page = visit.page("login.html", status, problem=problem, login_token=token)
    _set_cookie(visit, page, LOGIN_COOKIE, token)
    return page


def _set_cookie(visit: Visit, page: Response, name: str, value: str) -> None:
    page.set_cookie(name, value, httponly=True, samesite="strict", secure=visit.room.secure, path="/")


def login(visit: Visit) -> Response:
    """Check name and password. What is wrong is not said: a guesser must not learn which names exist."""
    address = visit.request.client.host if visit.request.client else ""
    try:
        token = log_in(visit.room.journal, visit.text("name").strip(), visit.text("password"), address)
    except PorismError as error:
        return _login_form(visit, f"{error.message}: {error.fix}", 429)
    if token is None:
        return _login_form(visit, "Name or password is wrong.", 401)
    page = RedirectResponse("/", 303)
    _set_cookie(visit, page, COOKIE, token)
    page.delete_cookie(LOGIN_COOKIE, path="/", httponly=True, samesite="strict", secure=visit.room.secure)
    return page


def logout(visit: Visit) -> Response:
    """End the session."""
    log_out(visit.room.journal, visit.request.cookies.get(COOKIE, ""))
    page = RedirectResponse("/login", 303)
    page.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=visit.room.secure)
    return page
