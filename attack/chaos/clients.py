"""Clients that say nothing, speak slowly, or never listen: others are served meanwhile."""

from __future__ import annotations

import contextlib
import socket
import time
from urllib.parse import urlsplit

from attack.chaos.processes import Server, hits, serving
from attack.chaos.servers import QUERIES
from attack.chaos.trials import Kind, Lost, Record, Stage
from attack.small import small_index

SLOW_SECONDS = 5.0  # for a plain search beside bad clients
HALVES = {
    "idle": b"",
    "half a request line": b"GET /v1/sea",
    "half a header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ",
    "half a body": b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9000\r\n\r\nq=",
    "an endless header": b"GET / HTTP/1.1\r\nX: " + b"a" * 60_000,
    "nobody reads": b"GET /v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 8,
    "garbage": bytes(range(256)) * 8,
}


def bad_clients(stage: Stage, record: Record) -> None:
    """Open many bad connections of each kind, then search."""
    with serving("serve", str(small_index(stage.folder)), "--port", "0", "--workers", "2") as server:
        expected = [hits(server.address, query) for query in QUERIES]
        for name, sent in HALVES.items():
            with record.attempt(name), contextlib.ExitStack() as opened:
                clients = [opened.enter_context(client) for client in connect(server, sent, 3 * stage.tries)]
                for query, right in zip(QUERIES, expected, strict=True):
                    began = time.monotonic()
                    found = hits(server.address, query, SLOW_SECONDS)
                    record.measure(time.monotonic() - began)
                    if found != right:
                        raise Lost(f"{len(clients)} clients: {'no' if found is None else 'a wrong'} answer to {query}")
                for client in clients[:20]:  # slowly, one byte more
                    with contextlib.suppress(OSError):
                        client.send(b"a")
        with record.attempt("connections are closed"):
            lonely = connect(server, b"GET / HTTP/1.1\r\nX-Slow: ", 3)
            closed_within(lonely, 45.0)


def connect(server: Server, sent: bytes, number: int) -> list[socket.socket]:
    """Open connections and send the beginning of something on each."""
    address = urlsplit(server.address)
    found = []
    for _ in range(number):
        client = socket.socket()
        client.settimeout(0.5)
        with contextlib.suppress(OSError):
            client.connect((address.hostname, address.port))
            client.sendall(sent)
        found.append(client)
    return found


def closed_within(clients: list[socket.socket], seconds: float) -> None:
    """Check that the server closes these connections in time."""
    deadline = time.monotonic() + seconds
    for client in clients:
        client.settimeout(1.0)
        while True:
            try:
                if not client.recv(4096):
                    break
            except TimeoutError:
                if time.monotonic() > deadline:
                    raise Lost(f"a connection with half a header is open after {seconds:.0f} s") from None
            except OSError:
                break
        client.close()


KINDS = (Kind("bad clients", "plain searches are answered meanwhile; half-sent requests are closed", bad_clients),)
