"""Server processes for tests: start one, wait for things, look at its workers."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


class Server(NamedTuple):
    """A running server: the supervisor, its address, and its log."""

    process: subprocess.Popen[bytes]
    address: str
    log: Path

    def get(self, path: str) -> bytes:
        """Return the body of a response."""
        with urllib.request.urlopen(self.address + path, timeout=60) as answer:
            body: bytes = answer.read()
            return body

    def answers(self) -> bool:
        """Return whether the server answers now."""
        try:
            return b'"ok":true' in self.get("v1/health")
        except OSError:
            return False

    def workers(self) -> set[int]:
        """Return the worker processes."""
        return children(self.process.pid)


def children(pid: int) -> set[int]:
    """Return the running children of a process."""
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return set()
    return {int(child) for child in found if alive(int(child))}


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(reached: Callable[[], object]) -> None:
    """Wait for something, at most a minute."""
    end = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


@contextmanager
def running(log: Path, *arguments: str, files: int | None = None) -> Iterator[Server]:
    """Start a server by a porism command and wait until it serves; `files` limits the files that a process may open."""

    def limit_files() -> None:
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    command = [sys.executable, "-m", "porism.cli", *arguments, "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stderr=out, env=environment, preexec_fn=limit_files) as process,
    ):
        try:
            until(lambda: "http://" in log.read_text() or process.poll() is not None)
            found = re.search(r"http://\S+/", log.read_text())
            assert found, log.read_text()
            yield Server(process, found[0], log)
        finally:
            process.kill()
