"""SIGKILL of server processes at random moments."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time

from attack.chaos.processes import Server, get, hits, in_session, serving
from attack.chaos.trials import Kind, Lost, Record, Stage, wait_until
from attack.small import small_index

BACK_SECONDS = 2.0
NOTICED_SECONDS = 1.0  # after which truncated files are noticed; the server looks every 0.25 s
QUERIES = ("q=binomial+theorem", "q=why+is+%24a%5E2%2Bb%5E2%3Dc%5E2%24+true", "q=limit&kind=questions")


class Visitor(threading.Thread):
    """Searches all the time, and remembers wrong answers and the longest time without any."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self.address, self.stopped = address, threading.Event()
        self.expected = [hits(address, query) for query in QUERIES]
        self.wrong: list[str] = []
        self.answered, self.silent, self.last = 0, 0.0, time.monotonic()

    def run(self) -> None:
        """Search until stopped."""
        number = 0
        while not self.stopped.is_set():
            query = QUERIES[number % len(QUERIES)]
            found = hits(self.address, query, 5)
            now = time.monotonic()
            if found is None:
                time.sleep(0.01)
                continue
            if found != self.expected[number % len(QUERIES)]:
                self.wrong.append(query)
            self.silent, self.last = max(self.silent, now - self.last), now
            self.answered += 1
            number += 1

    def check(self) -> float:
        """Return the longest silence since the last check; wrong answers are a loss."""
        if self.wrong:
            raise Lost(f"a wrong answer to {self.wrong[0]}")
        silent = max(self.silent, time.monotonic() - self.last)
        self.silent = 0.0
        return silent


def kill_workers(stage: Stage, record: Record) -> None:
    """Kill processes that serve: another one takes their place, and people notice nothing but a short wait."""
    index = small_index(stage.folder)
    with serving("serve", str(index), "--port", "0", "--workers", "2") as server:
        wait_until(lambda: len(server.workers) == 2, 60, "two workers did not start")
        visitor = Visitor(server.address)
        visitor.start()
        for number in range(stage.tries):
            with record.attempt(f"kill {number + 1}"):
                time.sleep(stage.rng.uniform(0, 0.5))
                before = server.workers
                victim = stage.rng.choice(before)
                visitor.check()
                began = time.monotonic()
                os.kill(
                    victim, signal.SIGSTOP if number % 5 == 4 else signal.SIGKILL
                )  # a stopped one is as bad as a dead one
                wait_until(
                    lambda before=before, victim=victim: (
                        len(set(server.workers) - {victim}) >= 2 and victim not in server.workers
                    ),
                    30,
                    "no new worker",
                )
                replaced = time.monotonic() - began
                answered = visitor.answered
                wait_until(lambda answered=answered: visitor.answered > answered + 2, 30, "no answers")
                silent = visitor.check()
                record.measure(max(silent, replaced))
                if max(silent, replaced) > BACK_SECONDS:
                    raise Lost(f"no answer for {silent:.1f} s, no new worker for {replaced:.1f} s")
        visitor.stopped.set()
        visitor.join()


def kill_supervisors(stage: Stage, record: Record) -> None:
    """Kill the first process: all others end with it, the address is free, and a new start serves again."""
    index = small_index(stage.folder)
    port = free_port()
    for number in range(stage.tries):
        with record.attempt(f"kill {number + 1}"):
            began = time.monotonic()
            server = Server(["serve", str(index), "--port", str(port), "--workers", "2"])
            try:
                if hits(server.address, QUERIES[0]) is None:
                    raise Lost("no answer after the start")
                record.measure(time.monotonic() - began)
                time.sleep(stage.rng.uniform(0, 0.3))
                server.process.kill()
                server.process.wait()
                wait_until(
                    lambda session=server.process.pid: not in_session(session), BACK_SECONDS, "its workers did not end"
                )
                wait_until(lambda: is_free(port), BACK_SECONDS, "the address is not free")
            finally:
                server.stop()


def is_free(port: int) -> bool:
    """Return whether a server can listen at a port."""
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def free_port() -> int:
    """Return a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def truncate_served(stage: Stage, record: Record) -> None:
    """Truncate mapped files while they are served, which kills the processes that read them: the service stays."""
    import shutil

    index = small_index(stage.folder)
    names = sorted(
        path.relative_to(index) for path in index.rglob("*") if path.is_file() and path.suffix in (".npy", ".bin", "")
    )
    for number in range(max(1, stage.tries // 10)):
        copy = stage.folder / f"served-{number}.index"
        shutil.copytree(index, copy)
        with (
            record.attempt(f"file {number + 1}"),
            serving("serve", str(copy), "--port", "0", "--workers", "2") as server,
        ):
            expected = [hits(server.address, query) for query in QUERIES]
            for name in stage.rng.sample(names, min(12, len(names))):
                with contextlib.suppress(OSError):
                    os.truncate(copy / name, (copy / name).stat().st_size // 2)
            time.sleep(NOTICED_SECONDS)
            began = time.monotonic()
            for _ in range(5):
                for query, right in zip(QUERIES, expected, strict=True):
                    if hits(server.address, query, 15) not in (None, right):
                        raise Lost(f"another answer to {query} from truncated files")
            record.measure(time.monotonic() - began)
            if server.process.poll() is not None or get(f"{server.address}/v1/health")[0] not in (200, 503):
                raise Lost("the server ended")
        shutil.rmtree(copy)


KINDS = (
    Kind(
        "kill worker",
        "the next answer and a new worker come within 2 s, also if a worker is stopped; all answers are right",
        kill_workers,
    ),
    Kind("kill supervisor", "all processes end within 2 s, the address is free, a new start serves", kill_supervisors),
    Kind("truncate served files", "no answer is wrong one second later; the service stays", truncate_served),
)
