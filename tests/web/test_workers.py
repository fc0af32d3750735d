"""Several processes serve one address: all of them answer, and none outlives the first."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from porism.web.server import workers as workers_module
from porism.web.server.run import bind

Server = tuple["subprocess.Popen[bytes]", str]


def until(reached: Callable[[], bool]) -> None:
    """Wait for something, at most a minute."""
    end = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


def children(pid: int) -> set[int]:
    """Return the running worker processes of a process."""
    found = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return {one for one in found if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()}


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def server(demo: Path, tmp_path: Path) -> Iterator[Server]:
    command = [sys.executable, "-m", "porism.cli", "serve", str(demo / "index"), "--port", "0", "--workers", "2"]
    log = tmp_path / "log"
    with log.open("wb") as out, subprocess.Popen(command, stderr=out) as process:
        until(lambda: "http://" in log.read_text())
        found = re.search(r"http://\S+/", log.read_text())
        assert found
        yield process, found[0]
        process.kill()


def test_a_worker_answers_and_ends_with_the_first_process(server: Server) -> None:
    process, address = server
    (worker,) = children(process.pid)
    process.send_signal(signal.SIGSTOP)  # the first cannot answer now
    with urllib.request.urlopen(address + "v1/health", timeout=60) as answer:
        assert json.load(answer)["data"]["status"] == "ok"
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) in (0, 130)
    until(lambda: not alive(worker))


def test_no_worker_outlives_a_killed_first_process(server: Server) -> None:
    process, _ = server
    (worker,) = children(process.pid)
    process.kill()
    assert process.wait(30) == -signal.SIGKILL
    until(lambda: not alive(worker))


def test_responses_are_not_delayed() -> None:
    """Without this socket option, each response on a kept connection waits 40 ms."""
    with bind("127.0.0.1", 0) as listener:
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def count_starts(folder: Path) -> None:
    """Leave a file with the process id, then wait to be stopped; the first process ends at once."""
    first = not list(folder.iterdir())
    (folder / str(os.getpid())).touch()
    if not first:
        signal.pause()


def test_a_worker_that_ends_is_replaced_and_stopping_is_immediate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers_module, "RESTART_SECONDS", 0.05)
    with workers_module.workers(1, count_starts, tmp_path):
        until(lambda: len(list(tmp_path.iterdir())) == 2)
        started = time.monotonic()
    assert time.monotonic() - started < 5
    until(lambda: not any(alive(int(path.name)) for path in tmp_path.iterdir()))
