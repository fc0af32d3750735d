"""What every request meets before and after it is answered: an id, a size limit, safe headers, a line in the log."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOG = logging.getLogger("porism.web")
MAX_BODY = 256 * 1024
MAX_TARGET = 256 * 1024  # path and query string; a query of 20,000 characters fits in any script, percent-encoded

# Pages load only what this server serves; nothing may frame them, run inline or leave the machine.
SAFE = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
}


class TooLarge(Exception):
    """A body went over the limit while it was read."""


class Limits:
    """ASGI middleware around a whole application.

    `uploads` names paths that take larger bodies, and how large; `headers` are put on every answer besides (or in place of) the safe
    ones; answers to paths that do not begin with one of `kept` are not to be stored by browsers (none named: all may be).
    """

    def __init__(
        self,
        app: ASGIApp,
        max_body: int = MAX_BODY,
        max_target: int = MAX_TARGET,
        uploads: Mapping[str, int] | None = None,
        headers: Mapping[str, str] | None = None,
        kept: tuple[str, ...] = ("/",),
    ) -> None:
        self.app, self.max_body, self.max_target, self.kept = app, max_body, max_target, kept
        self.uploads = uploads or {}
        self.headers = {**SAFE, **(headers or {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request within the limits."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = request_id_of(Headers(scope=scope).get("x-request-id", ""))
        scope.setdefault("state", {})["request_id"] = request_id
        started, status = time.perf_counter(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self.dress(MutableHeaders(scope=message), scope["path"], request_id)
            await send(message)

        try:
            await self.limited(scope, receive, answer)
        except TooLarge:
            if not status:  # nothing was sent yet
                await refusal(scope["path"], request_id)(scope, receive, answer)
        finally:
            seconds = time.perf_counter() - started
            LOG.info(
                "%s %s %s %s %.1f ms", request_id, scope["method"], scope["path"][:200], status or 500, seconds * 1000
            )

    def dress(self, headers: MutableHeaders, path: str, request_id: str) -> None:
        """Put on an answer what every answer wears."""
        headers["x-request-id"] = request_id
        for name, value in self.headers.items():
            headers.setdefault(name, value)
        if not path.startswith(self.kept):
            headers["cache-control"] = "no-store"

    async def limited(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what is too large at once, whether it says so itself or not."""
        limit = self.uploads.get(scope["path"], self.max_body)
        length = Headers(scope=scope).get("content-length", "0")
        target = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if target > self.max_target or not length.isdigit() or int(length) > limit:
            raise TooLarge
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > limit:
                raise TooLarge
            return message

        await self.app(scope, counted, send)


def request_id_of(given: str) -> str:
    """The caller's own id if it is harmless, else a new one."""
    return given if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", given) else uuid.uuid4().hex[:16]


def refusal(path: str, request_id: str) -> Response:
    """The answer to a request that is too large: in the shape of the API, or as words."""
    message, fix = "the request is too large", "send less"
    if path.startswith("/v1/"):
        return JSONResponse(error_body("too_large", message, "", fix, request_id), status_code=413)
    return PlainTextResponse(f"{message.capitalize()}: {fix}.", 413)


def error_body(code: str, message: str, where: str, fix: str, request_id: str) -> dict[str, object]:
    """The one shape of an error."""
    return {
        "ok": False,
        "error": {"code": code, "message": message, "where": where, "fix": fix},
        "request_id": request_id,
    }
