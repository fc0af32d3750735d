"""What every request meets before and after it is answered: an id, a size limit, safe headers, a line in the log."""

from __future__ import annotations

import logging
import re
import time
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
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
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, max_body: int = MAX_BODY, max_target: int = MAX_TARGET) -> None:
        self.app, self.max_body, self.max_target = app, max_body, max_target

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request within the limits."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = request_id_of(Headers(scope=scope).get("x-request-id", ""))
        scope.setdefault("state", {})["request_id"] = request_id
        started, status = time.perf_counter(), 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                for name, value in SAFE.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self.limited(scope, receive, answer, request_id)
        finally:
            seconds = time.perf_counter() - started
            LOG.info("%s %s %s %s %.1f ms", request_id, scope["method"], scope["path"][:200], status, seconds * 1000)

    async def limited(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        """Refuse what is too large at once, whether it says so itself or not."""
        length = Headers(scope=scope).get("content-length", "0")
        target = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if target > self.max_target or (length.isdigit() and int(length) > self.max_body):
            await refusal(request_id)(scope, receive, send)
            return
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.max_body:
                raise TooLarge
            return message

        try:
            await self.app(scope, counted, send)
        except TooLarge:
            await refusal(request_id)(scope, receive, send)


def request_id_of(given: str) -> str:
    """The caller's own id if it is harmless, else a new one."""
    return given if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", given) else uuid.uuid4().hex[:16]


def refusal(request_id: str) -> JSONResponse:
    """The answer to a request that is too large."""
    return JSONResponse(
        error_body("too_large", "the request is too large", "", "send a shorter query", request_id), status_code=413
    )


def error_body(code: str, message: str, where: str, fix: str, request_id: str) -> dict[str, object]:
    """The one shape of an error."""
    return {
        "ok": False,
        "error": {"code": code, "message": message, "where": where, "fix": fix},
        "request_id": request_id,
    }
