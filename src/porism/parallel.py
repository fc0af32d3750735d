"""Work on all cores, in order, with few tasks in flight so that memory stays flat."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.pool import AsyncResult, Pool
from typing import TypeVar

from porism.errors import PorismError

PATIENCE = 2.0

About = TypeVar("About")
Task = TypeVar("Task")
Result = TypeVar("Result")


def _quiet() -> None:
    # The parent hears Ctrl-C and ends the workers; their own tracebacks would only hide its message.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def workers(number: int) -> Iterator[Pool | None]:
    """A pool of processes; none where one is enough."""
    if number <= 1:
        yield None
        return
    pool = multiprocessing.get_context("spawn").Pool(number, initializer=_quiet)
    try:
        yield pool
    finally:
        pool.terminate()
        pool.join()


def ordered(
    pool: Pool | None, function: Callable[[Task], Result], tasks: Iterable[tuple[About, Task]], window: int
) -> Iterator[tuple[About, Result]]:
    """What each task is about, with its result, in the order of tasks; at most `window` are waited for at once."""
    if pool is None:
        for about, task in tasks:
            yield about, function(task)
        return
    alive = {child.pid for child in multiprocessing.active_children()}
    waiting: deque[tuple[About, AsyncResult[Result]]] = deque()
    for about, task in tasks:
        waiting.append((about, pool.apply_async(function, (task,))))
        if len(waiting) >= window:
            yield _first(waiting, alive)
    while waiting:
        yield _first(waiting, alive)


def _first(waiting: deque[tuple[About, AsyncResult[Result]]], alive: set[int | None]) -> tuple[About, Result]:
    """The first task's result. A pool replaces a worker that died but not its task, which would be waited for without end."""
    about, result = waiting.popleft()
    while not result.ready():
        result.wait(PATIENCE)
        if not result.ready() and alive - {child.pid for child in multiprocessing.active_children()}:
            fix = "run the same command again, with fewer --jobs if memory is short"
            raise PorismError("a worker process died", fix=fix)
    return about, result.get()
