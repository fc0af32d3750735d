"""Middleware around every request: a request id, size limits, security headers, and a line in the log, as text or as
JSON. No request can forge a line: whatever comes from outside is escaped."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal

from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from porism.web.http.requests import error_body

LogFormat = Literal["text", "json"]
MOST_PATH = 200  # characters of a path in a log line
# The id of the request that is being answered; JSON lines contain it.
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
LOG = logging.getLogger("porism.web")


def printable(text: str) -> str:
    """Return text on one line, with control characters escaped, so that no request can forge a line of the log."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


class TextFormatter(logging.Formatter):
    """One line for each record. The lines of a traceback follow it, indented."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        line = f"{self.formatTime(record)} {printable(record.getMessage())}"
        return "\n".join((line, *(f"    {printable(one)}" for one in traceback_of(record).splitlines())))


class JsonFormatter(logging.Formatter):
    """One JSON object on a line for each record: time, level, process, message, request id, fields of the record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": record.process,
            "message": record.getMessage(),
        }
        if request_id := REQUEST_ID.get():
            line["request_id"] = request_id
        line |= getattr(record, "fields", {})
        if text := traceback_of(record):
            line["traceback"] = text
        return json.dumps(line, default=str)  # only ASCII: separators of lines are escaped, too


FORMATTERS = {"text": TextFormatter, "json": JsonFormatter}


def traceback_of(record: logging.LogRecord) -> str:
    """Return the traceback of a record, or nothing."""
    return logging.Formatter().formatException(record.exc_info) if record.exc_info and record.exc_info[0] else ""


def configure_logging(log_format: LogFormat) -> None:
    """Write all log lines of this process, and of those forked from it, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FORMATTERS[log_format]())
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def log_request(request_id: str, method: str, path: str, status: int, seconds: float) -> None:
    """Log a request that was answered."""
    shown, milliseconds = printable(path[:MOST_PATH]), round(seconds * 1000, 1)
    fields = {
        "event": "request",
        "request_id": request_id,
        "method": method,
        "path": shown,
        "status": status,
        "milliseconds": milliseconds,
    }
    LOG.info("%s %s %s %s %.1f ms", request_id, method, shown, status, milliseconds, extra={"fields": fields})


def log_address(line: str, address: str, log_format: LogFormat, event: str = "serving") -> None:
    """Say where a server answers: as a line for people, or as a record."""
    if log_format == "json":
        LOG.info("%s", line, extra={"fields": {"event": event, "address": address}})
    else:
        print(line, file=sys.stderr, flush=True)


LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
MAX_BODY = 256 * 1024
# What is too large, and what to do, by the status of the response.
TOO_LARGE = {
    413: ("request is", "send less"),
    431: ("headers of the request are", "remove the cookies of this site, or send fewer headers"),
}
CLIENT_LEFT = 499  # in the log: the client left before its request was complete
MAX_TARGET = 256 * 1024  # path and query string: a query of 20,000 characters of any script fits, percent-encoded

# Pages load only what this server serves, frames included. Nothing may embed them, run inline, or send data elsewhere.
CONTENT_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
}
# The same for a site whose operator allows pictures of other machines.
REMOTE_IMAGES = {
    "content-security-policy": CONTENT_POLICY.replace("img-src 'self' data:", "img-src 'self' data: https:")
}

MOST_HEADERS = 100
MOST_HEADER_BYTES = 64 * 1024  # of the names and values of all headers together
LONGEST_HEADER = 16 * 1024
# Headers that libraries take apart piece by piece. Nobody needs a long one.
LONGEST = {b"content-type": 1024, b"range": 1024}
LONGEST_COOKIE = 4096
_LENGTH = re.compile("[0-9]{1,18}")
_HARMLESS_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")  # of a request; a caller's other ones are replaced
HeaderPairs = Iterable[tuple[bytes, bytes]]


def headers_fit(headers: HeaderPairs) -> bool:
    """Return whether the headers of a request are within the limits: each of them, their number, and all together."""
    number = total = 0
    for name, value in headers:
        number, total = number + 1, total + len(name) + len(value)
        if number > MOST_HEADERS or len(name) + len(value) > LONGEST.get(name, LONGEST_HEADER):
            return False
    return total <= MOST_HEADER_BYTES


def announced_length(header: str | None) -> int:
    """Return the number of bytes that Content-Length announces, 0 without one. What is no length exceeds any limit."""
    if header is None:
        return 0
    return int(header) if _LENGTH.fullmatch(header) else sys.maxsize


def cookie_of(headers: HeaderPairs, name: str) -> str:
    """Return the value of a cookie, the last of this name, or "". Quotes are part of a value: ours have none."""
    wanted, found = name.encode("ascii"), b""
    for header, value in headers:
        if header == b"cookie":
            for pair in value.split(b";"):
                given, _, content = pair.partition(b"=")
                if given.strip() == wanted:
                    found = content.strip()
    return found.decode("latin-1") if len(found) <= LONGEST_COOKIE else ""


# A picture that is opened by itself runs nothing and loads nothing; an SVG may have styles.
PICTURE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
    "cache-control": "public, max-age=31536000, immutable",
}


class RequestTooLarge(Exception):
    """A request exceeded its size limit: 413, or 431 if its headers did."""

    def __init__(self, status: int = 413) -> None:
        super().__init__(status)
        self.status = status


class RequestMiddleware:
    """ASGI middleware around a whole application.

    `on_error` answers an exception that the application does not handle; without it, the exception passes on.
    `uploads` maps paths that accept larger bodies to their limits. `headers` are added to every response; they override
    the security headers. Browsers may cache only responses whose path starts with one of `cacheable`.
    """

    def __init__(
        self,
        app: ASGIApp,
        max_body: int = MAX_BODY,
        uploads: Mapping[str, int] | None = None,
        headers: Mapping[str, str] | None = None,
        cacheable: tuple[str, ...] = ("/",),
        on_error: Callable[[Request, Exception], Awaitable[Response]] | None = None,
    ) -> None:
        self.on_error = on_error
        self.app, self.max_body, self.cacheable = app, max_body, cacheable
        self.uploads = uploads or {}
        self.headers = {**SECURITY_HEADERS, **(headers or {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        fit = headers_fit(scope["headers"])
        given = Headers(scope=scope).get("x-request-id", "") if fit else ""
        request_id = given if _HARMLESS_ID.fullmatch(given) else uuid.uuid4().hex[:16]
        scope.setdefault("state", {})["request_id"] = request_id
        REQUEST_ID.set(request_id)
        started, status = time.perf_counter(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith(self.cacheable):
                    headers["cache-control"] = "no-store"
            await send(message)

        try:
            if not fit:
                raise RequestTooLarge(431)
            await self._call_within_limits(scope, receive, send_with_headers)
        except RequestTooLarge as error:
            if not status:  # nothing was sent yet
                response = too_large_response(scope["path"], request_id, error.status)
                await response(scope, receive, send_with_headers)
        except ClientDisconnect:
            status = status or CLIENT_LEFT
        except Exception as error:
            if status or self.on_error is None:
                raise
            response = await self.on_error(Request(scope), error)
            await response(scope, receive, send_with_headers)
        finally:
            seconds = time.perf_counter() - started
            log_request(request_id, scope["method"], scope["path"], status or 500, seconds)

    async def _call_within_limits(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request that is too large, by its announced length or as soon as its body exceeds the limit."""
        limit = self.uploads.get(scope["path"], self.max_body)
        headers = Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy and this server could disagree where the body ends, and so where the next request starts.
            message = "A request cannot have both Content-Length and Transfer-Encoding."
            await PlainTextResponse(message, 400, {"connection": "close"})(scope, receive, send)
            return
        target = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if target > MAX_TARGET or announced_length(headers.get("content-length")) > limit:
            raise RequestTooLarge
        received = 0

        async def receive_within_limit() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise RequestTooLarge
            return message

        await self.app(scope, receive_within_limit, send)


def too_large_response(path: str, request_id: str, status: int) -> Response:
    """Return the response to a request that is too large: JSON for the API, text for a page."""
    what, fix = TOO_LARGE[status]
    message = f"the {what} too large"
    if path.startswith("/v1/"):
        return JSONResponse(error_body("too_large", message, "", fix, request_id), status_code=status)
    return PlainTextResponse(f"{message.capitalize()}: {fix}. (Request {request_id})", status)


class NumberConvertor(Convertor[int]):
    """A number without sign of 1 to 18 digits; a longer one names nothing, so the address is not found."""

    regex = "[0-9]{1,18}"

    def convert(self, value: str) -> int:
        """Return the number."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Return the digits."""
        return str(value)


register_url_convertor("number", NumberConvertor())  # `{name:number}` in routes
