"""A supervisor serves nothing: dead and frozen workers are replaced, and none outlives it."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import signal
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from server_processes import Server, alive, children, running, until
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from porism.errors import PorismError
from porism.store.embedded.storage.columns import SMALL_FILE
from porism.web.http.supervisor import Beats, Supervisor
from porism.web.http.workers import ServerSettings, Service, bind, supervise


@pytest.fixture(scope="module")
def server(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("server") / "log"
    options = ("--workers", "2", "--frozen-seconds", "1.5")
    with running(log, "serve", str(demo / "index"), *options) as made:
        until(lambda: len(made.workers()) == 2)
        yield made


def test_each_worker_that_is_killed_is_replaced(server: Server) -> None:
    before = server.workers()
    for worker in before:
        os.kill(worker, signal.SIGKILL)
    assert server.answers()  # a connection waits until a worker accepts it
    until(lambda: len(server.workers()) == 2)
    assert not server.workers() & before
    assert "(exit code -9) and is replaced" in server.log.read_text()


def test_a_stopped_worker_is_killed_and_replaced(server: Server) -> None:
    until(lambda: len(server.workers()) == 2)
    assert server.answers()
    before = server.workers()
    for worker in before:
        os.kill(worker, signal.SIGSTOP)
    assert server.answers()
    until(lambda: len(server.workers() - before) == 2)
    assert not any(map(alive, before))
    assert "is stopped and is killed" in server.log.read_text()


def test_a_truncated_file_may_cost_workers_but_not_the_service(demo: Path, tmp_path: Path) -> None:
    shutil.copytree(demo, tmp_path / "demo")
    with running(tmp_path / "log", "serve", str(tmp_path / "demo" / "index"), "--workers", "1") as server:
        (first,) = server.workers()
        mapped = max((tmp_path / "demo/index/posts").glob("tuples*"), key=lambda path: path.stat().st_size)
        assert mapped.stat().st_size > SMALL_FILE
        content = mapped.read_bytes()
        os.truncate(mapped, 0)
        with pytest.raises(OSError, match=r"."):  # the process dies, or has noticed it before and answers 503
            server.get("v1/search?q=$a^2%2Bb^2=c^2$&k=100")
        until(lambda: not alive(first) or "not served any more" in server.log.read_text())
        os.truncate(mapped, len(content))
        mapped.write_bytes(content)
        until(server.answers)
        assert b'"ok":true' in server.get("v1/search?q=theorem+proof+matrix&k=100")


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_worker_outlives_the_supervisor(demo: Path, tmp_path: Path, ending: signal.Signals) -> None:
    with running(tmp_path / "log", "serve", str(demo / "index"), "--workers", "2") as server:
        workers = server.workers()
        assert len(workers) == 2
        server.process.send_signal(ending)
        assert server.process.wait(60) == {signal.SIGKILL: -9, signal.SIGINT: 130, signal.SIGTERM: 0}[ending]
        until(lambda: not any(map(alive, workers)))
        assert not server.answers()


async def slow(request: Request) -> PlainTextResponse:
    await anyio.sleep(1)
    return PlainTextResponse("finished")


def open_slow() -> Service:
    return Service(Starlette(routes=[Route("/slow", slow)]), "slow")


@contextmanager
def forked(target: Any, *arguments: Any) -> Iterator[multiprocessing.context.ForkProcess]:
    """Run a function in another process, and kill that at the end."""
    process = multiprocessing.get_context("fork").Process(target=target, args=arguments)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def test_requests_finish_after_sigterm_and_no_more_are_accepted() -> None:
    listener = bind("127.0.0.1", 0)
    address = listener.getsockname()
    with forked(supervise, open_slow, [listener], print, ServerSettings(1)) as supervisor:
        listener.close()
        with socket.create_connection(address, timeout=60) as client:
            client.sendall(b"GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n")
            time.sleep(0.5)
            assert supervisor.pid
            os.kill(supervisor.pid, signal.SIGTERM)
            assert b"finished" in client.makefile("rb").read()
        supervisor.join(60)
        assert supervisor.exitcode == 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address, timeout=60)


def note_start(beats: Beats, folder: Path, ready: bool) -> None:
    (folder / str(os.getpid())).touch()
    if ready:
        beats.ready("")


def test_workers_that_die_at_once_are_started_less_and_less_often(tmp_path: Path) -> None:
    with forked(Supervisor(1, partial(note_start, folder=tmp_path, ready=False)).run):
        until(lambda: len(list(tmp_path.iterdir())) >= 2)
        time.sleep(1)
        assert len(list(tmp_path.iterdir())) <= 5


async def endless(request: Request) -> PlainTextResponse:
    await anyio.sleep(3600)
    return PlainTextResponse("never")


def open_endless() -> Service:
    return Service(Starlette(routes=[Route("/", endless)]), "endless")


def test_a_request_that_does_not_end_cannot_keep_the_server_running() -> None:
    listener = bind("127.0.0.1", 0)
    with forked(supervise, open_endless, [listener], print, ServerSettings(1, stop_seconds=1)) as supervisor:
        with socket.create_connection(listener.getsockname(), timeout=60) as client:
            listener.close()
            client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
            time.sleep(0.5)
            assert supervisor.pid
            os.kill(supervisor.pid, signal.SIGTERM)
            supervisor.join(60)
        assert supervisor.exitcode == 0


async def hold_the_lock(request: Request) -> PlainTextResponse:
    """Search with exponential time, in which the interpreter's lock is held and no other thread runs."""
    re.match("(a+)+b", "a" * 60)
    return PlainTextResponse("never")


def open_holding() -> Service:
    return Service(Starlette(routes=[Route("/", hold_the_lock), Route("/slow", slow)]), "holding")


def test_a_worker_whose_interpreter_is_locked_is_replaced() -> None:
    listener = bind("127.0.0.1", 0)
    with forked(supervise, open_holding, [listener], print, ServerSettings(1, frozen_seconds=600)):
        for path, expected in ((b"/", b""), (b"/slow", b"finished")):
            with socket.create_connection(listener.getsockname(), timeout=60) as client:
                client.sendall(b"GET %s HTTP/1.0\r\nhost: localhost\r\n\r\n" % path)
                try:
                    answer = client.makefile("rb").read()
                except ConnectionResetError:  # the worker was killed
                    answer = b""
                assert answer.endswith(expected)
                assert bool(answer) == bool(expected)


def fail(beats: Beats) -> None:
    raise PorismError("the index is damaged", where="index", fix="build it again")


def test_an_error_of_the_first_start_is_raised() -> None:
    with pytest.raises(PorismError, match="the index is damaged") as error:
        Supervisor(2, fail).run()
    assert (error.value.where, error.value.fix) == ("index", "build it again")
    assert not children(os.getpid()) & {process.pid for process in multiprocessing.active_children()}


def test_a_port_that_is_taken_is_reported() -> None:
    with bind("127.0.0.1", 0) as listener, pytest.raises(PorismError, match="cannot listen: Address already in use"):
        bind("127.0.0.1", listener.getsockname()[1])


def test_responses_are_not_delayed() -> None:
    """Without this socket option, each response on a kept connection waits 40 ms."""
    with bind("127.0.0.1", 0) as listener:
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_the_address_works_when_it_is_printed(server: Server) -> None:
    with urllib.request.urlopen(server.address, timeout=60) as answer:
        assert answer.status == 200
