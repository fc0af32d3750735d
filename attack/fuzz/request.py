"""Requests to an application in this process, and what every answer must have."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Hashable
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from attack.fuzz.reader import Wrong, active_content

HEADERS = ("content-security-policy", "x-content-type-options", "referrer-policy", "x-frame-options", "x-request-id")
# What the pages themselves contain: their scripts, styles and forms.
OWN = ('<script src="/', '<link rel="', "<meta ", "<form ", "<svg ", "<iframe ", "<script type=")


class Request(NamedTuple):
    """A request as an input spells it: `METHOD target`, header lines, an empty line, a body."""

    method: str
    target: str
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @classmethod
    def of(cls, data: bytes) -> Request:
        """Read an input."""
        head, _, body = data.partition(b"\n\n")
        first, *lines = head.split(b"\n")
        method, _, target = first.partition(b" ")
        pairs = [line.split(b":", 1) for line in lines if b":" in line]
        address = quote(target.decode("utf-8", "surrogateescape"), safe="/?&=%+:@!$,;~*'()", errors="surrogateescape")
        headers = [(name.strip().lower(), value.strip()) for name, value in pairs]
        return cls(method.decode("latin-1").upper()[:20] or "GET", address or "/", headers, body)


class Response(NamedTuple):
    """An answer of the application."""

    status: int
    headers: dict[str, str]
    body: bytes


async def send(app: Any, request: Request) -> Response:
    """Call the application as a server does."""
    path, _, query = request.target.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "path": unquote(path),
        "raw_path": path.encode("latin-1", "replace"),
        "query_string": query.encode("latin-1", "replace"),
        "headers": [(b"host", b"127.0.0.1"), *request.headers],
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }
    sent: list[dict[str, Any]] = []
    messages = [{"type": "http.request", "body": request.body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def keep(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, keep)
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    return Response(sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:]))


def answer(app: Any, loop: asyncio.AbstractEventLoop, data: bytes) -> Hashable:
    """Answer a request. Any answer but 500 is right, with all security headers, valid JSON and no active content."""
    request = Request.of(data)
    response = loop.run_until_complete(send(app, request))
    if response.status == 500:
        raise Wrong(f"status {response.status}")
    if missing := [name for name in HEADERS if name not in response.headers]:
        raise Wrong(f"without {missing[0]} (status {response.status})")
    kind = response.headers.get("content-type", "").partition(";")[0]
    if kind == "application/json":
        json.loads(response.body or b"null")
    if kind == "text/html" and (found := active_content(_without_own(response.body.decode()))):
        raise Wrong(f"active content: {found}")
    return response.status, kind, request.target.partition("?")[0][:14], len(response.body).bit_length()


def _without_own(page: str) -> str:
    for own in OWN:
        page = page.replace(own, "<own ")
    return page
