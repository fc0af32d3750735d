"""Processes to kill: commands in a forked child, servers as a user starts them."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from attack.chaos.trials import Lost, wait_until


def in_session(session: int) -> list[int]:
    """Return the living processes of a session, without those that only wait to be collected."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
                if int(fields[3]) == session and fields[0] not in "ZX":
                    found.append(int(entry))
    return found


def children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return [child for child in found if _state(child) not in "ZX"]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


START_SECONDS = 300.0  # for a server; in a fresh environment it compiles its loops first


class Command:
    """A command of the product in a forked child with a session of its own: its modules are loaded, so a kill hits its
    work."""

    def __init__(
        self,
        arguments: Sequence[str],
        log: Path,
        before: Callable[[], object] = lambda: None,
        main: Callable[[list[str]], int] | None = None,
    ) -> None:
        """Start it. `before` is called first in the child; `main` takes the place of the command line."""
        self.arguments = list(arguments)
        self.log, self._main = log, main
        self.usage: resource.struct_rusage | None = None  # once it has ended
        self.pid = os.fork()
        if not self.pid:
            self._run(before)

    def _run(self, before: Callable[[], object]) -> None:
        code = 99
        try:
            os.setsid()
            output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(output, 1)
            os.dup2(output, 2)
            before()
            from porism.cli import main

            code = (self._main or main)(self.arguments)
        except SystemExit as error:
            code = int(error.code or 0)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def wait(self) -> int:
        """Wait for the end; return the exit code."""
        _, status, self.usage = os.wait4(self.pid, 0)
        return os.waitstatus_to_exitcode(status)

    def kill_after(self, seconds: float) -> bool:
        """Kill the process after some time. Return False if it had ended before; orphans must end with it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return False
            time.sleep(0.002)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        wait_until(lambda: not in_session(self.pid), 10, "its child processes did not end")
        return True

    def output(self) -> str:
        """Return what the command printed."""
        return self.log.read_text(errors="replace")


def run_command(arguments: Sequence[str], log: Path, before: Callable[[], object] = lambda: None) -> str:
    """Run a command to its end; it must succeed."""
    command = Command(arguments, log, before)
    if code := command.wait():
        raise Lost(f"porism {arguments[0]} ended with {code}: {command.output()[-300:]}")
    return command.output()


class Server:
    """A server as a user starts it, with its address."""

    def __init__(
        self, arguments: Sequence[str], address: str = "", environment: Mapping[str, str] | None = None
    ) -> None:
        """Start it, and wait for its address unless that is given. `environment` adds variables to those of this
        process."""
        command = [sys.executable, "-m", "porism.cli", *arguments]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=os.environ | dict(environment or {}),
        )
        self.lines: list[str] = []
        self.address = address
        self._ready = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        if not address and not self._ready.wait(START_SECONDS):
            self.stop()
            raise Lost(f"the server did not start: {''.join(self.lines[-5:])}")

    def _read(self) -> None:
        assert self.process.stderr is not None
        for raw in self.process.stderr:
            line = raw.decode(errors="replace")
            self.lines = [*self.lines[-200:], line]
            if not self._ready.is_set() and (found := re.search(r"http://[\w.:\[\]]+", line)):
                self.address = self.address or found[0]
                self._ready.set()

    @property
    def workers(self) -> list[int]:
        """The processes that serve."""
        return children(self.process.pid)

    def stop(self) -> None:
        """End the server and all its processes."""
        session = self.process.pid
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pid in in_session(session):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def serving(*arguments: str, environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Run a server during a block."""
    server = Server(arguments, environment=environment)
    try:
        yield server
    finally:
        server.stop()


def get(url: str, seconds: float = 10.0) -> tuple[int, bytes]:
    """Return status and body of a page; status 0 if there is no answer."""
    try:
        with urllib.request.urlopen(url, timeout=seconds) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except (OSError, http.client.HTTPException):  # also an answer that breaks off
        return 0, b""


def hits(address: str, query: str, seconds: float = 10.0) -> list[tuple[int, float]] | None:
    """Return ids and scores of a search by the API; None without an answer."""
    status, body = get(f"{address}/v1/search?{query}", seconds)
    if status != 200:
        return None
    return [(hit["id"], round(hit["score"], 6)) for hit in json.loads(body)["data"]["hits"]]
