"""Login and logout, and the start page of each role."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from starlette.responses import RedirectResponse, Response

from porism.accounts import TooManyGuesses
from porism.lab.judging.assignments import Assignment, AssignmentProgress, assignments, progress
from porism.lab.judging.people import log_in, log_out
from porism.web.assess.requests import COOKIE, LOGIN_COOKIE, RequestContext
from porism.web.http.middleware import cookie_of

START_PAGES = {"organiser": "/organise", "team": "/submissions"}


@dataclass(frozen=True, slots=True)
class OwnAssignment:
    """An assignment in an assessor's list."""

    assignment: Assignment
    progress: AssignmentProgress


def home(context: RequestContext) -> Response:
    """Show an assessor's assignments; redirect teams and organisers to their own start page."""
    if context.session is None:
        return RedirectResponse("/login", 303)
    if context.session.role != "assessor":
        return RedirectResponse(START_PAGES[context.session.role], 303)
    journal = context.app.journal
    rows = [
        OwnAssignment(assignment, progress(journal, assignment)) for assignment in assignments(journal, context.account)
    ]
    following = next((row.assignment for row in rows if row.progress.next is not None), None)
    return context.page("home.html", rows=rows, following=following)


def login_page(context: RequestContext) -> Response:
    """Show the login form. It has a CSRF token of its own, since there is no session yet."""
    return _login_form(context, "", 200)


def _login_form(context: RequestContext, problem: str, status: int) -> Response:
    token = secrets.token_urlsafe(24)
    page = context.page("login.html", status, problem=problem, login_token=token)
    _set_cookie(context, page, LOGIN_COOKIE, token)
    return page


def _set_cookie(context: RequestContext, page: Response, name: str, value: str) -> None:
    page.set_cookie(name, value, httponly=True, samesite="strict", secure=context.app.secure, path="/")


def login(context: RequestContext) -> Response:
    """Check name and password. The answer does not say which of them is wrong, so guessing reveals no names."""
    address = context.request.client.host if context.request.client else ""
    try:
        token = log_in(context.app.journal, context.text("name").strip(), context.text("password"), address)
    except TooManyGuesses as error:
        form = _login_form(context, f"{error.message}: {error.fix}", 429)
        form.headers["retry-after"] = str(error.seconds)
        return form
    if token is None:
        return _login_form(context, "Name or password is wrong.", 401)
    page = RedirectResponse("/", 303)
    _set_cookie(context, page, COOKIE, token)
    page.delete_cookie(LOGIN_COOKIE, path="/", httponly=True, samesite="strict", secure=context.app.secure)
    return page


def logout(context: RequestContext) -> Response:
    """End the session."""
    log_out(context.app.journal, cookie_of(context.request.headers.raw, COOKIE))
    page = RedirectResponse("/login", 303)
    page.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=context.app.secure)
    return page
