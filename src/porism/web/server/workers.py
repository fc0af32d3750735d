"""More processes beside this one: started, replaced when they end, ended with it."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from typing import Any

LOG = logging.getLogger("porism.web")
PAUSE = 5.0  # seconds before a process that ended is replaced: what ended it may do so again at once


@contextmanager
def workers(number: int, work: Callable[..., None], *given: Any) -> Iterator[None]:
    """So many processes do `work(*given)` while the block runs. They are new ones, not copies: nothing of this one is shared but what
    is given."""
    start = multiprocessing.get_context("spawn").Process
    running: list[SpawnProcess] = []
    ending = threading.Event()

    def one() -> SpawnProcess:
        made = start(target=_guarded, args=(work, *given), daemon=True)
        made.start()
        return made

    def watch() -> None:
        while running and not ending.is_set():
            wait([process.sentinel for process in running], timeout=0.2)
            for at, process in enumerate(running):
                if process.exitcode is not None and not ending.wait(PAUSE):
                    LOG.warning("a worker ended (%s); another takes its place", process.exitcode)
                    running[at] = one()

    running.extend(one() for _ in range(number))
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ending.set()
        watcher.join()
        for process in running:
            process.terminate()
        for process in running:
            process.join()


def _guarded(work: Callable[..., None], *given: Any) -> None:
    """Do the work, and end when the process that asked for it does, however that ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()
    work(*given)


def _follow(sentinel: int) -> None:
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
