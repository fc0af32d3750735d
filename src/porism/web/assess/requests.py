"""Requests of the assessment server: what they share, limits, and checks of session, role and CSRF token; login and
logout, and the start page of each role."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from porism.accounts import TooManyGuesses
from porism.corpus.content import Content
from porism.errors import PorismError
from porism.lab.judging.assignments import Assignment, assignments, progress
from porism.lab.judging.content import ContentRenderer
from porism.lab.judging.items import topic_thread_id
from porism.lab.judging.journal import Journal
from porism.lab.judging.people import Session, log_in, log_out, session_of
from porism.lab.judging.record import own_assignment
from porism.lab.submissions import Submissions
from porism.web.http.middleware import SECURITY_HEADERS, cookie_of

# The names of the purposes on the pages.
PURPOSES = {"main": "Judging", "dual": "Second opinion", "training": "Training", "extra": "Extra questions"}


def thread_address(thread_id: int, post_id: int) -> str:
    """Return the address at which this server shows a post in its thread."""
    return f"/thread/{thread_id}#p{post_id}"


def assignment_title(assignment: Assignment) -> str:
    """Return a title such as `Training 2 · B.12`."""
    round_number = f" {assignment.round}" if assignment.purpose == "training" else ""
    return f"{PURPOSES[assignment.purpose]}{round_number} · {assignment.topic}"


def load_templates() -> jinja2.Environment:
    """Load the templates. Values are always escaped, and an undefined name is an error."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    templates = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters |= {
        "safe_html": Markup,
        "seconds": lambda value: "–" if value is None else f"{value:.1f} s",
        "kappa": lambda value: "–" if value is None else f"{value:.2f}",  # it may be undefined
        "assignment_title": assignment_title,
    }
    return templates


@dataclass(slots=True)
class AppContext:
    """The state of the server, made once when it starts. Behind HTTPS it is `secure`: cookies are sent over HTTPS only.
    With `in_order`, assessors judge the items of an assignment one after the other and skip none; they may go back."""

    journal: Journal
    content: ContentRenderer
    submissions: Submissions | None = None
    topic_threads: Content | None = None
    secure: bool = False
    in_order: bool = False
    templates: jinja2.Environment = field(default_factory=load_templates)

    def topic_thread(self, assignment: Assignment) -> int | None:
        """Return the id of the topic's own question, if it is known and can be shown."""
        thread_id = topic_thread_id(self.journal, assignment.task, assignment.topic)
        if thread_id is None or self.topic_threads is None or not self.topic_threads.known_posts([thread_id]):
            return None
        return thread_id

    def page(self, template: str, session: Session | None, status: int = 200, **values: Any) -> Response:
        """Render a page for a session."""
        text = self.templates.get_template(template).render(
            session=session, csrf=session.csrf if session else "", **values
        )
        return HTMLResponse(text, status)


COOKIE = "porism_session"
LOGIN_COOKIE = "porism_login"
FORM_LIMIT = 1 << 20
UPLOAD_LIMIT = 64 << 20
# Stricter than the search pages: no images from data URLs, and no other site may embed or read these pages.
HEADERS = {
    "content-security-policy": SECURITY_HEADERS["content-security-policy"].replace(" data:", ""),
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class RefusedRequest(Exception):
    """A refused request: the HTTP status and the message for the page."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One request: what a handler needs to answer it."""

    app: AppContext
    request: Request
    session: Session | None
    form: FormData

    @property
    def account(self) -> str:
        """The name of the logged-in account, or ""."""
        return self.session.account if self.session else ""

    def number(self, name: str) -> int:
        """Return a number from the address."""
        return int(self.request.path_params[name])

    def text(self, name: str) -> str:
        """Return a text field of the form, with plain line ends."""
        value = self.form.get(name, "")
        return "" if isinstance(value, UploadFile) else value.replace("\r\n", "\n")

    def new_request_key(self) -> str:
        """Return a key for a form, so that sending it twice stores it once."""
        return secrets.token_urlsafe(12)

    def assignment(self) -> Assignment:
        """Return the assignment in the address, if it belongs to this account."""
        try:
            return own_assignment(self.app.journal, self.account, self.number("assignment"))
        except PorismError as error:
            raise RefusedRequest(404, error.message) from None

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Answer with a page."""
        return self.app.page(template, self.session, status, **values)


Handler = Callable[[RequestContext], Response]


def protected(handler: Handler, *roles: str) -> Callable[[Request], Awaitable[Response]]:
    """Wrap a handler as an endpoint for these roles (none named: everyone); a form needs its CSRF token."""

    async def endpoint(request: Request) -> Response:
        if request.method != "POST":
            return await run_in_threadpool(_answer, handler, roles, request, FormData())
        refusal = await run_in_threadpool(_refusal, roles, request) if roles else None
        if refusal is not None:  # without reading the body, which may be large
            refusal.headers["connection"] = "close"
            return refusal
        return await run_in_threadpool(_answer, handler, roles, request, await request.form())

    return endpoint


def _refusal(roles: tuple[str, ...], request: Request) -> Response | None:
    """Return the answer to someone who may not send this form; None if the form is welcome."""
    app: AppContext = request.app.state.context
    session = session_of(app.journal, cookie_of(request.headers.raw, COOKIE))
    if session is None:
        return RedirectResponse("/login", 303)
    if session.role not in roles:
        message = "You do not have access to this page."
        return app.page("error.html", session, 403, message=message, fix="")
    return None


def _answer(handler: Handler, roles: tuple[str, ...], request: Request, form: FormData) -> Response:
    app: AppContext = request.app.state.context
    session = session_of(app.journal, cookie_of(request.headers.raw, COOKIE))
    context = RequestContext(app, request, session, form)
    try:
        if roles and session is None:
            return RedirectResponse("/login", 303)
        if roles and session is not None and session.role not in roles:
            raise RefusedRequest(403, "You do not have access to this page.")
        if request.method == "POST":
            _check_csrf_token(context)
        return handler(context)
    except RefusedRequest as refused:
        return context.page("error.html", refused.status, message=refused.message, fix="")
    except PorismError as error:
        return context.page("error.html", 422, message=error.message, fix=error.fix)


def _check_csrf_token(context: RequestContext) -> None:
    """Compare the form's token with the session's or, before login, with the cookie of the login page."""
    expected = context.session.csrf if context.session else cookie_of(context.request.headers.raw, LOGIN_COOKIE)
    given = context.text("csrf") or context.request.headers.get("X-CSRF", "")
    if not expected or not hmac.compare_digest(expected.encode(), given.encode()):
        raise RefusedRequest(403, "The form is out of date: load the page again.")


START_PAGES = {"organiser": "/organise", "team": "/submissions"}


def home(context: RequestContext) -> Response:
    """Show an assessor's assignments; redirect teams and organisers to their own start page."""
    if context.session is None:
        return RedirectResponse("/login", 303)
    if context.session.role != "assessor":
        return RedirectResponse(START_PAGES[context.session.role], 303)
    journal = context.app.journal
    rows = {one: progress(journal, one) for one in assignments(journal, context.account)}
    following = next((one for one, found in rows.items() if found.next is not None), None)
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
