"""Slow, idle and too many connections, with real sockets."""

from __future__ import annotations

import multiprocessing
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from server_processes import running
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from porism.web.http.connections import ConnectionLimits
from porism.web.http.middleware import MOST_HEADERS, SECURITY_HEADERS
from porism.web.http.workers import ServerSettings, Service, bind, supervise

HOST = b"host: localhost\r\n"
Address = tuple[str, int]


async def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


async def large(request: Request) -> PlainTextResponse:
    return PlainTextResponse("x" * 50_000_000)


def open_service() -> Service:
    return Service(Starlette(routes=[Route("/", echo, methods=["GET", "POST"]), Route("/large", large)]))


@contextmanager
def serving(limits: ConnectionLimits) -> Iterator[Address]:
    """Serve with these limits in another process."""
    listener = bind("127.0.0.1", 0)
    arguments = (open_service, (listener,), print, ServerSettings(connections=limits))
    process = multiprocessing.get_context("fork").Process(target=supervise, args=arguments)
    process.start()
    address: Address = listener.getsockname()
    listener.close()
    try:
        yield address
    finally:
        process.kill()
        process.join()


@pytest.fixture(scope="module")
def impatient() -> Iterator[Address]:
    limits = ConnectionLimits(header_seconds=1.0, body_seconds=1.0, rate=10**9, send_seconds=1.0, idle_seconds=2.0)
    with serving(limits) as address:
        yield address


def read_to_end(client: socket.socket) -> bytes:
    """Return what the server sends until it closes the connection; a minute at most."""
    received = bytearray()
    client.settimeout(60)
    try:
        while part := client.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return bytes(received)


@pytest.mark.parametrize(
    "request_line", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"]
)
def test_a_request_that_is_not_http_gets_the_security_headers(impatient: Address, request_line: bytes) -> None:
    with socket.create_connection(impatient) as client:
        client.sendall(request_line)
        answer = read_to_end(client).lower()
    assert answer.startswith(b"http/1.1 400 ")
    for name in SECURITY_HEADERS:
        assert f"\r\n{name}: ".encode() in answer
    assert b"connection: close" in answer


QUOTED = b'a="' + rb"\"" * 50_000 + b'"'
HEADERS_TOO_LARGE = {
    "a quoted cookie": b"cookie: " + QUOTED + b"\r\n",
    "many small headers": b"a:\r\n" * 30_000,
    "many middle-sized headers": b"".join(b"x-%d: %s\r\n" % (at, b"a" * 1000) for at in range(70)),
    "one more than allowed": b"".join(b"x-%d: 1\r\n" % at for at in range(MOST_HEADERS)),
    "a folded header": b"x: 1\r\n" + b" a\r\n" * 30_000,
}


@pytest.mark.parametrize("headers", HEADERS_TOO_LARGE.values(), ids=HEADERS_TOO_LARGE)
@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"], ids=["first", "pipelined"])
def test_headers_that_are_too_large_are_not_parsed(impatient: Address, headers: bytes, before: bytes) -> None:
    with socket.create_connection(impatient) as client:
        client.sendall(before + b"GET / HTTP/1.1\r\n" + HOST + headers + b"\r\n")
        answer = read_to_end(client)
    assert answer.startswith(b"HTTP/1.1 200" if before else b"HTTP/1.1 431 Request Header Fields Too Large")
    assert b"HTTP/1.1 431 " in answer
    assert answer.count(b"HTTP/1.1 200") == bool(before)


def test_trailers_of_a_body_are_headers_too(impatient: Address) -> None:
    head = b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n" + HOST + b"\r\n1\r\nx\r\n0\r\n"
    with socket.create_connection(impatient) as client:
        client.sendall(head + b"a:\r\n" * 30_000 + b"\r\n")
        assert b"HTTP/1.1 200" not in read_to_end(client)


def test_headers_within_the_limits_pass(impatient: Address) -> None:
    long_query = b"GET /?q=" + b"a" * 200_000 + b" HTTP/1.1\r\nconnection: close\r\n"
    most = b"".join(b"x-%d: %s\r\n" % (at, b"a" * 600) for at in range(MOST_HEADERS - 2))
    with socket.create_connection(impatient) as client:
        client.sendall(long_query + HOST + most + b"\r\n")
        assert read_to_end(client).startswith(b"HTTP/1.1 200")


def test_a_connection_without_a_request_is_closed(impatient: Address) -> None:
    with socket.create_connection(impatient) as client:
        assert read_to_end(client) == b""


@pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"])
def test_headers_that_arrive_slowly_do_not_keep_a_connection_open(impatient: Address, first: bytes) -> None:
    """Also not in the second request of a connection."""
    with socket.create_connection(impatient) as client:
        client.sendall(first + b"GET / HTTP/1.1\r\n" + HOST)
        client.settimeout(0.2)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                client.sendall(b"x-slow: 1\r\n")
                if first and client.recv(65536).startswith(b"HTTP/1.1 200"):
                    continue
                if not client.recv(65536):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert time.monotonic() < end


def test_a_body_that_arrives_slowly_is_not_waited_for(impatient: Address) -> None:
    with socket.create_connection(impatient) as client:
        client.sendall(b"POST / HTTP/1.1\r\n" + HOST + b"content-length: 1000\r\n\r\nx")
        assert b"200" not in read_to_end(client)


def test_a_client_that_does_not_read_is_disconnected(impatient: Address) -> None:
    with socket.create_connection(impatient) as client:
        client.sendall(b"GET /large HTTP/1.1\r\n" + HOST + b"\r\n")
        time.sleep(4)
        assert len(read_to_end(client)) < 50_000_000


def test_an_idle_connection_is_closed_and_an_active_one_is_not(impatient: Address) -> None:
    with socket.create_connection(impatient) as client:
        for _ in range(4):
            client.sendall(b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
            received = b""
            while not received.endswith(b"\r\n\r\n0"):
                received += client.recv(65536)
            time.sleep(0.7)
        assert read_to_end(client) == b""


def test_a_large_body_may_take_its_time() -> None:
    with (
        serving(ConnectionLimits(body_seconds=1.0, rate=10_000)) as address,
        socket.create_connection(address) as client,
    ):
        head = b"POST / HTTP/1.1\r\nconnection: close\r\ncontent-length: 60000\r\n"
        client.sendall(head + HOST + b"\r\n")
        for _ in range(6):
            client.sendall(b"x" * 10_000)
            time.sleep(0.4)
        assert read_to_end(client).endswith(b"60000")


def test_the_oldest_idle_connection_makes_place_for_a_new_one() -> None:
    with serving(ConnectionLimits(connections=3)) as address, ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(address)) for _ in range(6)]
        for client in clients[:3]:
            assert read_to_end(client) == b""
        clients[-1].sendall(b"GET / HTTP/1.1\r\nconnection: close\r\n" + HOST + b"\r\n")
        assert read_to_end(clients[-1]).startswith(b"HTTP/1.1 200")


def test_a_connection_is_refused_at_once_when_all_others_are_busy() -> None:
    with serving(ConnectionLimits(connections=2)) as address, ExitStack() as stack:
        for _ in range(2):
            client = stack.enter_context(socket.create_connection(address))
            client.sendall(b"POST / HTTP/1.1\r\n" + HOST + b"content-length: 10\r\n\r\nx")
        time.sleep(1)
        answer = read_to_end(stack.enter_context(socket.create_connection(address)))
        assert answer.startswith(b"HTTP/1.1 503 Service Unavailable")
        assert b"retry-after: 2" in answer


def test_idle_connections_cannot_use_up_all_files(demo: Path, tmp_path: Path) -> None:
    options = ("--workers", "1", "--idle-seconds", "600")
    with running(tmp_path / "log", "serve", str(demo / "index"), *options, files=256) as server, ExitStack() as stack:
        host, port = server.address.removeprefix("http://").rstrip("/").split(":")
        for _ in range(300):
            client = stack.enter_context(socket.create_connection((host, int(port)), timeout=60))
            client.sendall(b"GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        assert server.answers()
        assert b'"ok":true' in server.get("v1/search?q=square+root")


def test_no_more_connections_than_files(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = len(os.listdir("/proc/self/fd")) + 200
    monkeypatch.setattr("porism.web.http.connections.resource.getrlimit", lambda kind: (limit, limit))
    assert 16 <= ConnectionLimits().within_files().connections < 200
    assert ConnectionLimits(connections=20).within_files().connections == 20


def test_a_server_may_open_as_many_files_as_the_system_allows() -> None:
    code = (
        "import resource\n"
        "from porism.web.http.connections import MOST_FILES, allow_files\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))\n"
        "allow_files()\n"
        "soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]\n"
        "print(soft == (MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)))\n"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "True\n"
