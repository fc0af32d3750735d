"""The server of the living site, and SIGKILL of its processes: a worker, the applier, the merger, or all of it."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from attack.chaos.processes import Server, children
from attack.chaos.servers import free_port
from attack.chaos.trials import wait_until
from attack.living.load import Client

KINDS = ("applier", "server", "merger", "worker")
KILLED_SECONDS = 1.0  # in which requests may fail after a worker was killed
START_SECONDS = 300.0
MERGE_SECONDS = (0.2, 2.0)  # from the request of a merge to the kill of the merger


class Window(NamedTuple):
    """A time in which requests may fail, because of a kill."""

    kind: str
    start: float
    end: float


@dataclass
class LivingServer:
    """A writable server on a fixed port that is started again after it was killed, as a service manager does."""

    index: Path
    token: str
    port: int = field(default_factory=lambda: free_port())
    windows: list[Window] = field(default_factory=list)
    memory: dict[str, int] = field(default_factory=dict)  # largest resident bytes by kind of process

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        address = f"http://127.0.0.1:{self.port}"
        arguments = ["serve", str(self.index), "--port", str(self.port), "--workers", "2", "--writable"]
        self.server = Server(arguments, address)
        wait_until(lambda: self.client.call("GET", "/v1/health").status == 200, START_SECONDS, "no start")

    @property
    def client(self) -> Client:
        """A client of the server."""
        return Client(self.port, self.token)

    def processes(self, kind: str) -> list[int]:
        """Return the processes of one kind."""
        found = {pid: name_of(pid) for pid in children(self.server.process.pid)}
        return [pid for pid, name in found.items() if (name == kind if kind != "worker" else name not in KINDS)]

    def measure(self) -> None:
        """Note the memory of all processes."""
        for kind in ("worker", "applier", "merger"):
            for pid in self.processes(kind):
                self.memory[kind] = max(self.memory.get(kind, 0), resident(pid))

    def kill(self, kind: str, chance: random.Random) -> None:
        """Kill one process, or the whole server, which is started again."""
        if kind == "merger":
            self.client.call("POST", "/v1/merge")
            time.sleep(chance.uniform(*MERGE_SECONDS))
        began = time.monotonic()
        if kind == "server":
            self.server.process.kill()
            self.server.process.wait()
            self.start()
            self.windows.append(Window(kind, began, time.monotonic()))
            return
        victims = self.processes(kind)
        if victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(victims), signal.SIGKILL)
        length = KILLED_SECONDS if kind == "worker" else 0.0
        self.windows.append(Window(kind, began, began + length))

    def stop(self) -> None:
        """Stop the server."""
        self.server.stop()


def name_of(pid: int) -> str:
    """Return the name of a process, without what all of them share."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip().removeprefix("porism-")
    return ""


def resident(pid: int) -> int:
    """Return the resident bytes of a process that are its own."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))
    return 0
