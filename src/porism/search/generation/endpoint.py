"""A language model behind an address that follows the OpenAI protocol: chats, plain completions, and streams.

The size, time, status and form of a reply are checked. Redirects are not followed: the key would go with them."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from porism.errors import PorismError

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
    """Send a POST request and return the reply. Raise ValueError for an invalid address, or an OSError."""
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


Api = Literal["chat", "completions"]
BUSY = (408, 425, 429, 500, 502, 503, 504)  # states of a server that may pass
KEY_VARIABLE = "PORISM_ENDPOINT_KEY"
SHOWN = 200  # characters of a reply that a message quotes
FOLLOW = "check that it follows the OpenAI protocol"


class EndpointError(PorismError):
    """A language model did not answer as the protocol says. `may_pass` is true if the request may succeed later."""

    def __init__(self, message: str, *, where: str = "", fix: str = "", may_pass: bool = False) -> None:
        super().__init__(message, where=where, fix=fix)
        self.may_pass = may_pass


class Message(NamedTuple):
    """A message of a conversation: `system`, `user` or `assistant`, and what it says."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model writes: the most new tokens, and the temperature (None: that of the endpoint)."""

    tokens: int = 570  # as in the lab's own generated baseline
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a model wrote, whether it ended by itself, and the numbers of tokens if the endpoint counts them."""

    text: str
    finished: bool
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address of a language model. The key is a bearer token and never shown; `seconds` limits a whole reply."""

    url: str
    model: str
    key: str = ""
    seconds: float = 8.0

    def chat(self, messages: tuple[Message, ...], sampling: Sampling) -> ModelReply:
        """Return the reply to a conversation."""
        return self._completed(_chat_body(messages), sampling, "message")

    def complete(self, prompt: str, sampling: Sampling) -> ModelReply:
        """Return the continuation of a text."""
        return self._completed({"prompt": prompt}, sampling, "")

    def stream(self, messages: tuple[Message, ...], sampling: Sampling) -> Iterator[str]:
        """Yield the reply to a conversation in pieces. A stream that breaks off before its end is an error."""
        body = {**self._body(_chat_body(messages), sampling), "stream": True}
        with self._request(body) as reply:
            if not reply.is_stream:  # an endpoint that cannot stream sends the whole reply
                yield self._completion(reply.read(), "message", 0.0).text
                return
            finished = False
            for line in reply.lines():
                data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
                if data == "[DONE]":
                    return
                if data:
                    piece, finished = self._piece(data, finished)
                    if piece:
                        yield piece
        if not finished:
            raise self._error("the answer broke off before its end", "try again, or look into the log of the model")

    def _completed(self, question: Mapping[str, Any], sampling: Sampling, field: str) -> ModelReply:
        began = time.perf_counter()
        with self._request(self._body(question, sampling)) as reply:
            data = reply.read()
        return self._completion(data, field, time.perf_counter() - began)

    def _body(self, question: Mapping[str, Any], sampling: Sampling) -> dict[str, Any]:
        body = {"model": self.model, **question, "max_tokens": sampling.tokens}
        return body if sampling.temperature is None else {**body, "temperature": sampling.temperature}

    @contextmanager
    def _request(self, body: Mapping[str, Any]) -> Iterator[Reply]:
        """Send a request. Every failure of network and protocol becomes an EndpointError."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        try:
            with posted(self.url, json.dumps(body).encode(), headers, self.seconds) as reply:
                self._check_status(reply)
                yield reply
        except TimeoutError:
            fact = f"no complete answer within {self.seconds:g} seconds"
            raise self._error(fact, "try again, or allow more time", may_pass=True) from None
        except ValueError as error:
            raise self._error(str(error), "write an address as http://127.0.0.1:8080/v1/chat/completions") from None
        except OSError as error:
            fact = f"cannot be reached: {error.strerror or error}"
            raise self._error(fact, "start the model, or correct the address", may_pass=True) from None

    def _check_status(self, reply: Reply) -> None:
        if reply.status == 200:
            return
        if 300 <= reply.status < 400:
            target = printable(reply.location) or "another address"
            raise self._error(f"redirects to {target}", "name the final address; redirects are not followed")
        said = _error_message(reply.read())
        fixes = {401: f"set {KEY_VARIABLE}", 403: f"set {KEY_VARIABLE}", 404: "correct the address or the model's name"}
        fix = fixes.get(reply.status, "try again later" if reply.status in BUSY else "correct the request")
        fact = f"status {reply.status}{f': {said}' if said else ''}"
        raise self._error(fact, fix, may_pass=reply.status in BUSY)

    def _completion(self, data: bytes, field: str, seconds: float) -> ModelReply:
        """Read the JSON of a reply."""
        found = self._parsed(data.decode("utf-8", "replace"))
        try:
            choice = found["choices"][0]
            text = choice[field]["content"] if field else choice["text"]
            usage = found.get("usage") or {}
            finish = choice.get("finish_reason", "stop")
        except (KeyError, IndexError, TypeError, AttributeError):
            text = None
        if not isinstance(text, str):
            place = f"choices[0].{field}.content" if field else "choices[0].text"
            raise self._error(f"the reply has no text at {place}: {_shown(data)}", FOLLOW)
        counts = (
            usage.get(name) if isinstance(usage, dict) else None for name in ("prompt_tokens", "completion_tokens")
        )
        read, written = (one if type(one) is int and one >= 0 else None for one in counts)
        return ModelReply(text, finish == "stop", read, written, seconds)

    def _piece(self, data: str, finished: bool) -> tuple[str, bool]:
        """Return the text of one event of a stream, and whether the model has ended."""
        found = self._parsed(data)
        try:
            if found.get("error"):
                raise self._error(f"the stream reports an error: {_error_message(data.encode())}", "try again")
            choice = (found.get("choices") or [{}])[0]
            text = (choice.get("delta") or {}).get("content") or ""
            return str(text), finished or choice.get("finish_reason") is not None
        except (AttributeError, IndexError, KeyError, TypeError):
            fact = f"an event of the stream is not a piece of an answer: {_shown(data.encode())}"
            raise self._error(fact, FOLLOW) from None

    def _parsed(self, text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise self._error(f"the reply is not JSON: {_shown(text.encode())}", FOLLOW) from None

    def _error(self, message: str, fix: str, may_pass: bool = False) -> EndpointError:
        return EndpointError(message, where=f"the endpoint {address(self.url)}", fix=fix, may_pass=may_pass)


def _chat_body(messages: tuple[Message, ...]) -> dict[str, Any]:
    return {"messages": [message._asdict() for message in messages]}


def _error_message(data: bytes) -> str:
    """Return what an error reply says: the message of its JSON, or its beginning."""
    try:
        found = json.loads(data[:MAX_REPLY])
        error = found.get("error", found)
        return printable(str(error["message"] if isinstance(error, dict) and "message" in error else error))
    except (ValueError, AttributeError, RecursionError):
        return _shown(data) if data.strip() else ""


def _shown(data: bytes) -> str:
    return repr(printable(data[: 4 * SHOWN].decode("utf-8", "replace")))


def printable(text: str) -> str:
    """Return text of a foreign server for a message: one line, no control characters, not long."""
    line = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * SHOWN])
    line = " ".join(line.split())
    return f"{line[:SHOWN]}…" if len(line) > SHOWN else line


def address(url: str) -> str:
    """Return an address without user, password and parameters, for messages and records."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"
    except ValueError:
        return "(an address that cannot be read)"
