"""Run tasks in workers, in order, with a bounded number of tasks in flight so that memory stays bounded.

Workers are processes of this machine, or those of a Dask cluster. Who has tasks does not know which.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from porism.parallel.processes import cores, local_processes

__all__ = ["Jobs", "Pool", "TaskQueue", "cores", "local", "ordered", "workers", "worth"]

# Objects that the process which hands out tasks makes before it looks for reference cycles; usually 700. It makes
# millions, and no cycles.
OBJECTS = 100_000

Jobs = int | str  # the number of processes (0: one per core), or the address of a Dask scheduler
Label = TypeVar("Label")
Task = TypeVar("Task")
Result = TypeVar("Result")
Done = TypeVar("Done", covariant=True)


class Pending(Protocol[Done]):
    """A task that is being done."""

    def result(self) -> Done:
        """Wait for the result of the task, or raise its error."""
        ...


class Pool(Protocol):
    """Where tasks are done."""

    @property
    def sees_files(self) -> bool:
        """Whether the workers see the files of this machine."""
        ...

    def window(self) -> int:
        """Return how many tasks may be in flight."""
        ...

    def start(self, function: Callable[[], object]) -> None:
        """Let each worker call this function before the first task comes. Do not wait for them."""
        ...

    def submit(self, function: Callable[[Task], Result], task: Task) -> Pending[Result]:
        """Add a task. A task may be done twice, when a worker is lost."""
        ...

    def end(self) -> None:
        """Let the workers end while the caller goes on. No task may follow."""
        ...


@contextmanager
def workers(jobs: Jobs) -> Iterator[Pool | None]:
    """Start workers, or connect to those of a cluster. There are none (`None`) where one process is enough."""
    thresholds = gc.get_threshold()
    with _pool(jobs) as pool:
        if pool is not None:
            gc.set_threshold(OBJECTS, *thresholds[1:])
        try:
            yield pool
        finally:
            gc.set_threshold(*thresholds)


@contextmanager
def _pool(jobs: Jobs) -> Iterator[Pool | None]:
    if isinstance(jobs, str):
        from porism.parallel.dask_cluster import connect

        with connect(jobs) as cluster:
            yield cluster
        return
    with local_processes(jobs or cores()) as processes:
        yield processes


def local(jobs: Jobs) -> int:
    """Return the jobs for tasks that work on files of this machine."""
    return 0 if isinstance(jobs, str) else jobs


def worth(jobs: Jobs, is_small: bool) -> Jobs:
    """Return the jobs for a task list: where it is small, one process is done before others would have started."""
    return 1 if is_small and not isinstance(jobs, str) else jobs


class TaskQueue(Generic[Label, Task, Result]):
    """Tasks of one function in the workers of a pool, whose results come in the order in which the tasks were
    submitted.

    `carry` returns a task that holds what the given one reads from files, for workers that do not see them.
    """

    def __init__(
        self, pool: Pool, function: Callable[[Task], Result], carry: Callable[[Task], Task] | None = None
    ) -> None:
        self._pool = pool
        self._function = function
        self._carry = None if pool.sees_files else carry
        self._waiting: deque[tuple[Label, Pending[Result]]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, label: Label, task: Task) -> None:
        """Add a task."""
        self._waiting.append((label, self._pool.submit(self._function, self._carry(task) if self._carry else task)))

    def results(self, tasks: Iterable[tuple[Label, Task]]) -> Iterator[tuple[Label, Result]]:
        """Yield the label and the result of each task so far, then of more tasks, of which at most `window` are in
        flight."""
        for label, task in tasks:
            self.submit(label, task)
            while len(self._waiting) >= self._pool.window():
                yield self._first()
        while self._waiting:
            yield self._first()

    def _first(self) -> tuple[Label, Result]:
        label, pending = self._waiting.popleft()
        return label, pending.result()


def ordered(
    pool: Pool | None,
    function: Callable[[Task], Result],
    tasks: Iterable[tuple[Label, Task]],
    carry: Callable[[Task], Task] | None = None,
) -> Iterator[tuple[Label, Result]]:
    """Yield each task's label with its result, in the order of the tasks, of which only some are in flight; see
    `TaskQueue`.

    Without a pool the tasks run here, one after another.
    """
    if pool is not None:
        yield from TaskQueue[Label, Task, Result](pool, function, carry).results(tasks)
        return
    for label, task in tasks:
        yield label, _run(function, task)


def _run(function: Callable[[Task], Result], task: Task) -> Result:
    """Run a task without the search for reference cycles: what tasks make has none, and looking for them takes a fifth
    of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return function(task)
    finally:
        if enabled:
            gc.enable()
