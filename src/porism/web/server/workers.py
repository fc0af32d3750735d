"""Worker processes beside this one: started, replaced when one ends, and stopped together with this process."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

LOG = logging.getLogger("porism.web")
RESTART_SECONDS = 5.0  # before a worker is replaced, since whatever ended it may end the next one at once


@contextmanager
def workers(number: int, work: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """Run `work(*arguments)` in this many processes while the block runs.

    The processes are spawned, not forked: they share only the arguments with this one.
    """
    processes = [_start(work, arguments) for _ in range(number)]
    stopped, stop = multiprocessing.Pipe(duplex=False)
    watcher = threading.Thread(target=_replace_ended, args=(processes, stopped, work, arguments), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stop.close()
        watcher.join()
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()
        stopped.close()


def _start(work: Callable[..., None], arguments: tuple[Any, ...]) -> SpawnProcess:
    process = multiprocessing.get_context("spawn").Process(target=_run, args=(work, *arguments), daemon=True)
    process.start()
    return process


def _replace_ended(
    processes: list[SpawnProcess], stopped: Connection, work: Callable[..., None], arguments: tuple[Any, ...]
) -> None:
    """Replace every process that ends until the other end of `stopped` is closed. Waits without polling."""
    while stopped not in wait([stopped, *(process.sentinel for process in processes)]):
        for place, process in enumerate(processes):
            if process.exitcode is None:
                continue
            if wait([stopped], timeout=RESTART_SECONDS):
                return
            LOG.warning("a worker ended (exit code %s) and is replaced", process.exitcode)
            processes[place] = _start(work, arguments)


def _run(work: Callable[..., None], *arguments: Any) -> None:
    """Do the work, and end when the parent process ends, for whatever reason."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    work(*arguments)


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
