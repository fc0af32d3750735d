"""Limits of connections: time for headers, body and idle connections, size of headers, and how many connections there
may be.

uvicorn has a time limit for idle connections after a response, and none for others. Here every connection is in a phase
that may last only so long. When there are too many connections, the oldest idle one is closed; if none is idle, the new
one is refused.
"""

from __future__ import annotations

import asyncio
import http
import os
import re
import resource
import sys
import time
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, NamedTuple

import h11
from h11._receivebuffer import ReceiveBuffer
from uvicorn.protocols.http.h11_impl import H11Protocol

from porism.web.http.middleware import MOST_HEADER_BYTES, MOST_HEADERS, SECURITY_HEADERS

Phase = Literal["headers", "body", "answer", "idle", "closing"]
WAITING_PHASES: tuple[Phase, ...] = ("idle", "headers")  # in which a connection may be closed for another one
RESERVED_FILES = 64  # of the files that a process may open, for everything but connections
FEWEST_CONNECTIONS = 16
MOST_FILES = 65_536  # that a serving process may open, if the system allows as many
CLOSE_SECONDS = 5.0  # for what is left to send when a connection is closed
MOST_LINES_BYTES = MOST_HEADER_BYTES + 4 * MOST_HEADERS  # with the colon and the end of each line
_BLANK_LINE = re.compile(rb"\n\r?\n")
TOO_LARGE = "The headers of the request are too large: remove the cookies of this site, or send fewer headers.\n"
REFUSAL = "The server has too many connections. Try again in a few seconds.\n"


class ConnectionLimits(NamedTuple):
    """Seconds for the headers and the body of a request, for sending a response, and between two requests; the number
    of connections. A large body or response may take longer, by a second for each `rate` bytes."""

    header_seconds: float = 10.0
    body_seconds: float = 20.0
    rate: int = 10_000
    send_seconds: float = 30.0
    idle_seconds: float = 15.0
    connections: int = 1000

    def within_files(self) -> ConnectionLimits:
        """Return limits with no more connections than this process may open files."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY:
            return self
        used = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        possible = max(FEWEST_CONNECTIONS, soft - used - RESERVED_FILES)
        return self._replace(connections=min(self.connections, possible))


def allow_files() -> None:
    """Let this process and its children open as many files as the system allows: mapped files and connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class HeaderBuffer(ReceiveBuffer):
    """What a connection has received. Headers, and the trailers of a body, that are too many or too large are refused
    before they are parsed. h11 limits only what is incomplete, and takes about 5 µs for each header."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return the request line and the headers, once all of them have arrived."""
        start = self._data.find(b"\n") + 1  # the request line has a limit of its own
        if start:
            blank = _BLANK_LINE.search(self._data, start - 1)
            end = blank.start() if blank else len(self._data)
            if end - start > MOST_LINES_BYTES or self._data.count(b"\n", start, end) >= MOST_HEADERS:
                raise h11.RemoteProtocolError("the headers are too large", error_status_hint=431)
        return super().maybe_extract_lines()


class LimitedProtocol(H11Protocol):
    """A connection that is in one phase at a time, each of which may last only so long."""

    limits: ClassVar[ConnectionLimits] = ConnectionLimits()
    phase: Phase = "headers"
    since: float = 0.0
    received: int = 0
    sending_since: float = 0.0
    sending_bytes: int = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn._receive_buffer = HeaderBuffer()

    def _enter(self, phase: Phase) -> None:
        if phase != self.phase or not self.since:
            self.phase, self.since, self.received = phase, time.monotonic(), 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, if there is space for it."""
        super().connection_made(transport)
        self._enter("headers")
        open_ones = sum(one.phase != "closing" for one in _limited(self.connections))
        if open_ones > self.limits.connections and not self._close_oldest():
            self._answer(503, REFUSAL, {"retry-after": "2"})

    def _close_oldest(self) -> bool:
        """Close the connection that has waited longest for a request, idle ones first; return whether there was one."""
        waiting = [one for one in _limited(self.connections) if one is not self and one.phase in WAITING_PHASES]
        if not waiting:
            return False
        oldest = min(waiting, key=lambda one: (WAITING_PHASES.index(one.phase), one.since))
        oldest._enter("closing")
        oldest.transport.abort()
        return True

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not HTTP. No application sees it, so the security headers are added here."""
        if getattr(sys.exc_info()[1], "error_status_hint", 400) == 431:  # uvicorn calls this while it handles the error
            self._answer(431, TOO_LARGE, {})
        else:
            self._answer(400, f"{msg}\n", {})

    def _answer(self, status: int, text: str, headers: dict[str, str]) -> None:
        """Send a whole response without the application, and close the connection."""
        body = text.encode("ascii", "replace")
        own = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body)), "connection": "close"}
        lines = [(name.encode(), value.encode()) for name, value in {**own, **SECURITY_HEADERS, **headers}.items()]
        response = h11.Response(status_code=status, headers=lines, reason=http.HTTPStatus(status).phrase.encode())
        try:
            for event in (response, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:  # a response is under way, which cannot be taken back
            self.transport.abort()
        self.close()

    def close(self) -> None:
        """Close the connection after what is left to send."""
        self._enter("closing")
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request."""
        if self.phase == "closing":
            return
        if self.phase == "idle":
            self._enter("headers")
        self.received += len(data)
        super().data_received(data)
        self._follow_request()

    def _follow_request(self) -> None:
        if self.transport.is_closing():
            self._enter("closing")
        elif self.cycle is not None and not self.cycle.response_complete:
            self._enter("body" if self.cycle.more_body else "answer")

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._enter("closing" if self.transport.is_closing() else "idle")
        super().on_response_complete()
        self._follow_request()  # a request may have arrived before this response

    def check_time(self, now: float) -> None:
        """Close the connection if its phase lasts too long, or if its client does not read what was sent."""
        waited, limits = now - self.since, self.limits
        if unsent := self.transport.get_write_buffer_size():
            self.sending_since = self.sending_since or now
            self.sending_bytes = max(self.sending_bytes, unsent)
            if now - self.sending_since > limits.send_seconds + self.sending_bytes / limits.rate:
                self.transport.abort()
            return
        self.sending_since, self.sending_bytes = 0.0, 0
        if self.phase == "body" and waited > limits.body_seconds + self.received / limits.rate:
            self.transport.abort()
        elif (self.phase == "headers" and waited > limits.header_seconds) or (
            self.phase == "idle" and waited > limits.idle_seconds
        ):
            self.close()
        elif self.phase == "closing" and waited > CLOSE_SECONDS:
            self.transport.abort()


def _limited(connections: Iterable[Any]) -> list[LimitedProtocol]:
    return [one for one in connections if isinstance(one, LimitedProtocol)]


def check_connections(connections: Iterable[Any]) -> None:
    """Close the connections whose phase lasts too long."""
    now = time.monotonic()
    for one in _limited(connections):
        one.check_time(now)
