"""One POST request with a limit for its whole time and for the size of its reply. A timer ends the connection, however slowly the server sends."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

MAX_REPLY = 1_000_000  # bytes
CHUNK = 65_536


class Reply:
    """The reply to a request: status, headers, and a body that is read once."""

    def __init__(self, response: HTTPResponse, expired: threading.Event) -> None:
        self.status = response.status
        self.location = response.getheader("location", "")
        self.is_stream = response.getheader("content-type", "").startswith("text/event-stream")
        self._response = response
        self._expired = expired

    def read(self) -> bytes:
        """Return the whole body. A body that is larger than the limit or shorter than announced is an error."""
        return b"".join(self._chunks())

    def lines(self) -> Iterator[str]:
        """Yield the lines of the body as they arrive."""
        rest = b""
        for chunk in self._chunks():
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line.decode("utf-8", "replace").rstrip("\r")
        if rest:
            yield rest.decode("utf-8", "replace")

    def _chunks(self) -> Iterator[bytes]:
        size = 0
        while chunk := self._response.read1(CHUNK):
            size += len(chunk)
            if size > MAX_REPLY:
                raise ConnectionError(f"the reply is larger than {MAX_REPLY:,} bytes")
            yield chunk
        if self._expired.is_set():
            raise TimeoutError
        if self._response.length:  # bytes that were announced and did not come
            raise ConnectionError("the connection was closed in the middle of the reply")


@contextmanager
def posted(url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> Iterator[Reply]:
    """Send a POST request and return the reply. Raise ValueError for an invalid address, TimeoutError, or another OSError."""
    from http.client import HTTPException

    connection, path = _connection(url, seconds)
    expired = threading.Event()
    timer: threading.Timer | None = None
    end = time.monotonic() + seconds
    try:
        connection.connect()
        timer = threading.Timer(max(end - time.monotonic(), 0.001), _end, (connection.sock, expired))
        timer.daemon = True
        timer.start()
        connection.request("POST", path, body, dict(headers))
        with connection.getresponse() as response:
            yield Reply(response, expired)
    except (OSError, HTTPException) as error:
        if expired.is_set():
            raise TimeoutError from error
        if isinstance(error, OSError):
            raise
        raise ConnectionError(f"not an HTTP reply ({type(error).__name__})") from error
    finally:
        if timer is not None:
            timer.cancel()
        connection.close()


def _connection(url: str, seconds: float) -> tuple[HTTPConnection, str]:
    from http.client import HTTPConnection, HTTPSConnection

    parts = urlsplit(url)
    kinds = {"http": HTTPConnection, "https": HTTPSConnection}
    if parts.scheme not in kinds or not parts.hostname or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("this is not an address of http or https")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return kinds[parts.scheme](parts.hostname, parts.port, timeout=seconds), path


def _end(sock: socket.socket, expired: threading.Event) -> None:
    """Shut a socket down, so that a read in another thread ends at once."""
    expired.set()
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
