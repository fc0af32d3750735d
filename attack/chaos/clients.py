"""Clients that say nothing, speak slowly, never listen, send huge headers, or guess passwords: others are served
meanwhile."""

from __future__ import annotations

import base64
import contextlib
import socket
import threading
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from attack.chaos.processes import Server, hits, serving
from attack.chaos.servers import QUERIES
from attack.chaos.trials import Kind, Lost, Record, Stage
from attack.small import small_index
from porism.accounts import UserFile

SLOW_SECONDS = 5.0  # for a plain search beside bad clients
HALVES = {
    "idle": b"",
    "half a request line": b"GET /v1/sea",
    "half a header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ",
    "half a body": b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9000\r\n\r\nq=",
    "an endless header": b"GET / HTTP/1.1\r\nX: " + b"a" * 60_000,
    "nobody reads": b"GET /v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 8,
    "garbage": bytes(range(256)) * 8,
    "a quoted cookie": b'GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: porism_reader="'
    + rb"\"" * 50_000
    + b'"\r\n\r\n',
    "many headers": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"a:\r\n" * 60_000 + b"\r\n",
    "many trailers": b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    + b"a:\r\n" * 60_000
    + b"\r\n",
}
PASSWORD = "correct horse battery"
GUESSERS = 100


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


def guessed_passwords(stage: Stage, record: Record) -> None:
    """Let many connections guess passwords of a private site, while a reader whose password is known searches."""
    UserFile(stage.folder / "users").add("ada", PASSWORD)
    options = ("--port", "0", "--workers", "2", "--set", f"access.users={stage.folder / 'users'}")
    with serving("serve", str(small_index(stage.folder)), *options) as server:
        for _ in range(4):  # until both workers remember the password
            status_of(server, PASSWORD, "ada")
        stop = threading.Event()
        guessers = [threading.Thread(target=guess, args=(server, number, stop)) for number in range(GUESSERS)]
        for guesser in guessers:
            guesser.start()
        try:
            time.sleep(1.0)
            for number in range(2 * stage.tries):
                with record.attempt(f"search {number}"):
                    began = time.monotonic()
                    status = status_of(server, PASSWORD, "ada")
                    record.measure(time.monotonic() - began)
                    if status != 200:
                        raise Lost(f"a reader with the right password gets {status}")
                    if time.monotonic() - began > SLOW_SECONDS:
                        raise Lost(f"a reader waits for {time.monotonic() - began:.1f} s")
        finally:
            stop.set()
            for guesser in guessers:
                guesser.join()


def guess(server: Server, number: int, stop: threading.Event) -> None:
    """Guess until `stop`, under another name each time."""
    attempt = 0
    while not stop.is_set() and attempt < 100_000:
        attempt += 1
        status_of(server, "a wrong password", f"eve{number}-{attempt}")


def status_of(server: Server, password: str, name: str) -> int:
    """Return the status of a search by HTTP Basic; 0 without an answer."""
    given = base64.b64encode(f"{name}:{password}".encode()).decode()
    headers = {"authorization": f"Basic {given}"}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(f"{server.address}/v1/search?q=root", headers=headers), timeout=30
        ) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


KINDS = (
    Kind("guessed passwords", "readers who are known are answered, whoever guesses", guessed_passwords),
    Kind("bad clients", "plain searches are answered meanwhile; half-sent requests are closed", bad_clients),
)
