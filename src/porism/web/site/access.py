"""Access to a private site: every request passes the gate, but for the health of the server and files that say nothing
of the posts.

Either a reverse proxy names the user in a header, which is trusted from its addresses only; or readers log in with a
name and a password of the user file, on a page (a session cookie) or by HTTP Basic (programs and feed readers).
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from porism.accounts import (
    NamePassword,
    PasswordChecker,
    TooManyGuesses,
    UserFile,
    new_session,
    place_for_login,
    session_user,
    sign,
)
from porism.errors import PorismError
from porism.web.http.middleware import announced_length, cookie_of
from porism.web.http.requests import LOG, error_body
from porism.web.site.settings import SiteSettings

# Everyone gets these: probes of the server, and the files that the login page shows.
OPEN = ("/v1/health", "/health", "/ready", "/metrics", "/static/", "/theme.css", "/logo.")
COOKIE, LOGIN_COOKIE = "porism_reader", "porism_login"
LOGIN, LOGOUT = "/login", "/logout"
LONGEST_FORM = 10_000
NOT_ENDED = "This browser is logged out, but your other sessions could not be ended. Tell the operator of the site."


@dataclass(frozen=True, slots=True)
class Reader:
    """Someone who may read the site; `csrf` is the token of the form that ends the session, empty without a session."""

    name: str
    csrf: str = ""


class LoginForm(NamedTuple):
    """What a login form sends."""

    name: str
    password: str
    token: str


class AccessGate:
    """ASGI middleware that lets only admitted readers pass."""

    def __init__(self, app: ASGIApp, site: SiteSettings) -> None:
        self.app = app
        self._header = site.access.header
        self._networks = [ipaddress.ip_network(text) for text in site.access.proxies]
        self._users = UserFile(Path(site.access.users)) if site.access.users else None
        self._passwords = PasswordChecker(self._users) if self._users else None
        self._secure = site.site.base_url.startswith("https:")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, answer the login pages, or refuse it."""
        if scope["type"] != "http" or scope["path"].startswith(OPEN) or _has_token(scope):
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            if self._users is not None and scope["path"] in (LOGIN, LOGOUT):
                response = await (self._login if scope["path"] == LOGIN else self._logout)(request)
            elif reader := self._known(request) or await self._by_password(request):
                scope.setdefault("state", {})["reader"] = reader
                await self.app(scope, receive, _private(send))
                return
            else:
                response = self._refusal(request)
        except TooManyGuesses as error:
            response = _error(request, 429, error.message, error.fix, {"retry-after": str(error.seconds)})
        except PorismError as error:  # a user file that cannot be read
            LOG.error("access: %s", error)
            response = _error(request, 503, "nobody can log in now", "the operator finds the reason in the log")
        await response(scope, receive, _private(send))

    def _known(self, request: Request) -> Reader | None:
        """Return who sends a request, if that costs no check of a password: known readers never wait for guesses."""
        if self._header and self._is_proxy(request):
            name = request.headers.get(self._header, "").strip()
            if name:
                return Reader(name[:200])
        if self._users is None or self._passwords is None:
            return None
        users, cookie = self._users.current(), cookie_of(request.headers.raw, COOKIE)
        if name := session_user(users, cookie, time.time()):
            return Reader(name, sign(users.secret, "logout", cookie))
        given = basic_credentials(request.headers.get("authorization", ""))
        return Reader(given.name) if given and self._passwords.remembers(given) else None

    async def _by_password(self, request: Request) -> Reader | None:
        """Return who sends a request by HTTP Basic, or None if name or password is wrong or missing."""
        given = basic_credentials(request.headers.get("authorization", ""))
        if given is None or self._passwords is None:
            return None
        with place_for_login():  # here, so that a flood of guesses takes no thread
            return Reader(given.name) if await run_in_threadpool(self._passwords.check, given) else None

    def _is_proxy(self, request: Request) -> bool:
        """Return whether a request comes from one of the proxies. The header of anyone else is worth nothing."""
        try:
            address = ipaddress.ip_address(request.client.host if request.client else "")
        except ValueError:
            return False
        return any(address in network for network in self._networks)

    def _refusal(self, request: Request) -> Response:
        """Send browsers to the login page; programs get HTTP Basic's challenge (401), or 403 where a proxy decides."""
        if self._users is None:
            return _error(request, 403, "this site is private", "open it through its own address, where you log in")
        shows_pages = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1/")
        if shows_pages and request.method in ("GET", "HEAD"):
            target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"{LOGIN}?next={quote(target)}", 303)
        answer = _error(request, 401, "this site is private", "send name and password by HTTP Basic, or open /login")
        answer.headers["www-authenticate"] = 'Basic realm="Porism", charset="UTF-8"'
        return answer

    async def _login(self, request: Request) -> Response:
        if request.method != "POST":
            return self._form(request, "", 200)
        given = await _login_form(request)
        expected = cookie_of(request.headers.raw, LOGIN_COOKIE)
        if given is None or not expected or not hmac.compare_digest(expected.encode(), given.token.encode()):
            return self._form(request, "The form is out of date: try again.", 403)
        assert self._users is not None
        assert self._passwords is not None
        try:
            with place_for_login():
                matches = await run_in_threadpool(self._passwords.check, NamePassword(given.name, given.password))
        except TooManyGuesses as error:
            form = self._form(request, f"{error.message}: {error.fix}.", 429)
            form.headers["retry-after"] = str(error.seconds)
            return form
        if not matches:
            return self._form(request, "Name or password is wrong.", 401)
        page = RedirectResponse(local_target(request.query_params.get("next", "")), 303)
        session = new_session(self._users.current(), given.name, time.time())
        # Lax and not strict, so that a link on another site leads to the page and not to the login form.
        page.set_cookie(COOKIE, session, httponly=True, samesite="lax", secure=self._secure, path="/")
        page.delete_cookie(LOGIN_COOKIE, path=LOGIN)
        return page

    def _form(self, request: Request, problem: str, status: int) -> Response:
        token = secrets.token_urlsafe(24)
        state = request.app.state
        target = quote(local_target(request.query_params.get("next", "")))
        body = state.templates.get_template("login.html").render(
            look=state.look, problem=problem, token=token, action=f"{LOGIN}?next={target}"
        )
        page = Response(body, status, media_type="text/html; charset=utf-8")
        page.set_cookie(LOGIN_COOKIE, token, httponly=True, samesite="strict", secure=self._secure, path=LOGIN)
        return page

    async def _logout(self, request: Request) -> Response:
        assert self._users is not None
        cookie = cookie_of(request.headers.raw, COOKIE)
        given = str((await request.form()).get("csrf", "")) if request.method == "POST" else ""
        if not hmac.compare_digest(sign(self._users.current().secret, "logout", cookie).encode(), given.encode()):
            return RedirectResponse("/", 303)
        page: Response = RedirectResponse(LOGIN, 303)
        if name := session_user(self._users.current(), cookie, time.time()):
            try:
                await run_in_threadpool(self._users.end_sessions, name)
            except PorismError as error:
                LOG.error("sessions of %s cannot be ended: %s", name, error)
                page = self._form(request, NOT_ENDED, 503)
        page.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax", secure=self._secure)
        return page


def _has_token(scope: Scope) -> bool:
    """Return whether a request changes posts or asks for the change log with a token, which its endpoint checks."""
    authorization = dict(scope["headers"]).get(b"authorization", b"")
    return bool(
        (scope["method"] not in ("GET", "HEAD", "OPTIONS") or scope["path"] == "/v1/log")
        and scope["path"].startswith("/v1/")
        and authorization[:7].lower() == b"bearer "
    )


async def _login_form(request: Request) -> LoginForm | None:
    """Read a login form; None if it is none."""
    if announced_length(request.headers.get("content-length")) > LONGEST_FORM:
        return None
    form = await request.form()
    return LoginForm(*(str(form.get(name, "")) for name in ("name", "password", "csrf")))


def basic_credentials(header: str) -> NamePassword | None:
    """Return name and password of an Authorization header of HTTP Basic, or None."""
    kind, _, encoded = header.partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).decode("utf-8").partition(":")
    except ValueError:
        return None
    return NamePassword(name, password) if colon else None


def local_target(target: str) -> str:
    """Return an address of this site to go to after the login; an address of another site becomes the start page."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return "/"
    is_local = target.startswith("/") and not parts.scheme and not parts.netloc and "\\" not in target
    usable = is_local and target.isprintable() and not target.startswith(("//", LOGIN, LOGOUT))
    return target if usable else "/"


def _error(request: Request, status: int, message: str, fix: str, headers: Mapping[str, str] | None = None) -> Response:
    codes = {401: "unauthorized", 403: "forbidden", 429: "busy"}
    body = error_body(codes.get(status, "unavailable"), message, "", fix, getattr(request.state, "request_id", ""))
    return JSONResponse(body, status, headers)


def _private(send: Send) -> Send:
    """Return a `send` that lets no shared cache keep a response."""

    async def send_private(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            kept = headers.get("cache-control", "no-store")
            headers["cache-control"] = "private, " + kept.replace("public, ", "")
            headers.add_vary_header("cookie, authorization")
        await send(message)

    return send_private
