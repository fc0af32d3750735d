"""Run tasks in workers, in order, with a bounded number of tasks in flight so that memory stays bounded.

Workers are processes of this machine, or those of a Dask cluster. Who has tasks does not know which.
"""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from porism.errors import PorismError
from porism.safe_path import safe_environment, safe_path

# Variables of the environment by which the libraries of linear algebra learn how many threads they may use.
THREAD_LIMITS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

TASKS = 100  # tasks between two searches for reference cycles in a worker

Task = TypeVar("Task")
Result = TypeVar("Result")


_STARTING = threading.Lock()
_done = 0  # tasks of this worker
__all__ = ["Jobs", "Pool", "TaskQueue", "cores", "local", "ordered", "workers", "worth"]
# Objects that the process which hands out tasks makes before it looks for reference cycles; usually 700. It makes
# millions, and no cycles.
OBJECTS = 100_000
Jobs = int | str  # the number of processes (0: one per core), or the address of a Dask scheduler
Label = TypeVar("Label")
Done = TypeVar("Done", covariant=True)


class _SafeProcess(SpawnProcess):
    """A process with the safe path, which runs the program of this process and nothing else.

    multiprocessing gives it the path of this process. The program of `python < script` is called `<stdin>`; a file of
    this name in the current folder would run.
    """

    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:
        main = vars(sys.modules["__main__"])
        with _STARTING:
            before, sys.path = sys.path, safe_path()
            hidden = {} if os.path.isabs(main.get("__file__") or "/") else {"__file__": main.pop("__file__")}
            try:
                return SpawnProcess._Popen(process_obj)
            finally:
                sys.path = before
                main.update(hidden)


class _SafeContext(SpawnContext):
    """Starts processes with the safe path."""

    Process = _SafeProcess


class _Executor(ProcessPoolExecutor):
    """Starts its processes with the safe path."""

    def __init__(self, number: int) -> None:
        super().__init__(number, _SafeContext(), initializer=_prepare_process)


class Processes:
    """Worker processes."""

    sees_files = True

    def __init__(self, number: int) -> None:
        self._number = number
        self._executor = _Executor(number)
        self._ending: threading.Thread | None = None

    def window(self) -> int:
        """Return how many tasks may be in flight."""
        return 2 * self._number

    def start(self, function: Callable[[], object]) -> None:
        """Start the workers now, each with a call of this function, to be ready for the first task. Do not wait."""
        for _ in range(self._number):
            self._executor.submit(function)

    def submit(self, function: Callable[[Task], Result], task: Task) -> PendingTask[Result]:
        """Add a task."""
        with _reported_deaths():
            return PendingTask(self._executor.submit(run_in_worker, function, task))

    def end(self) -> None:
        """Let the workers end, which takes them a moment, while the caller goes on. No task may follow."""
        self._ending = threading.Thread(target=self._executor.shutdown)
        self._ending.start()

    def shutdown(self) -> None:
        """Wait until all workers have ended."""
        if self._ending is None:
            self._executor.shutdown(cancel_futures=True)
        else:
            self._ending.join()


class PendingTask(Generic[Result]):
    """A task that a worker process does."""

    def __init__(self, future: Future[Result]) -> None:
        self._future = future

    def result(self) -> Result:
        """Wait for the result of the task."""
        with _reported_deaths():
            return self._future.result()


def cores() -> int:
    """Return how many cores this process may use: its CPU affinity, not the size of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local_processes(number: int) -> Iterator[Processes | None]:
    """Start worker processes, or none (`None`) where one process is enough.

    When the block ends with an error or Ctrl-C, the workers are terminated at once; they do not finish their tasks.
    Python with `-E` hides the environment from its workers, also that they need a safe path. So there are none.
    """
    if number <= 1 or (sys.flags.ignore_environment and not sys.flags.safe_path):
        yield None
        return
    others = set(multiprocessing.active_children())
    with _environment_of_workers():
        pool = Processes(number)
        try:
            yield pool
        except BaseException:
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
            raise
        finally:
            pool.shutdown()


@contextmanager
def _environment_of_workers() -> Iterator[None]:
    """Start processes that have the safe path, among them the one by which multiprocessing tracks resources, and whose
    linear algebra uses one thread. There are as many workers as cores, so that more threads would only wait for each
    other, which takes processor time."""
    changed = safe_environment() | dict.fromkeys(THREAD_LIMITS, "1")
    before = {name: os.environ.get(name) for name, value in changed.items() if os.environ.get(name) != value}
    os.environ.update({name: changed[name] for name in before})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _reported_deaths() -> Iterator[None]:
    """Report a worker that died."""
    try:
        yield
    except BrokenProcessPool:
        fix = "run the same command again, with fewer --jobs if memory is short"
        # Each worker imports the script that started it, which must not start workers again.
        script = Path(getattr(sys.modules["__main__"], "__file__", None) or "porism")
        if script.stem not in ("porism", "__main__"):
            fix += f'; {script.name} must call Porism under `if __name__ == "__main__":`'
        raise PorismError("a worker process died", fix=fix) from None


def run_in_worker(function: Callable[[Task], Result], task: Task) -> Result:
    """Run a task in a worker, where the search for reference cycles is off; look for some from time to time."""
    global _done
    _done += 1
    if _done % TASKS == 0:
        gc.collect()
    return function(task)


def prepare_worker() -> None:
    """Switch the search for reference cycles off, also the last one at the end; leave Ctrl-C to the parent."""
    gc.disable()
    atexit.register(gc.freeze)
    # The parent handles Ctrl-C and terminates the workers; their own tracebacks would hide its message.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _prepare_process() -> None:
    """Make a worker end with its parent, and only with it."""
    prepare_worker()
    # A worker waits for tasks without end when its parent was killed, since it holds both ends of the queue itself.
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class Pending(Protocol[Done]):
    """A task that is being done."""

    def result(self) -> Done:
        """Wait for the result of the task, or raise its error."""


class Pool(Protocol):
    """Where tasks are done."""

    @property
    def sees_files(self) -> bool:
        """Whether the workers see the files of this machine."""

    def window(self) -> int:
        """Return how many tasks may be in flight."""

    def start(self, function: Callable[[], object]) -> None:
        """Let each worker call this function before the first task comes. Do not wait for them."""

    def submit(self, function: Callable[[Task], Result], task: Task) -> Pending[Result]:
        """Add a task. A task may be done twice, when a worker is lost."""

    def end(self) -> None:
        """Let the workers end while the caller goes on. No task may follow."""


@contextmanager
def workers(jobs: Jobs) -> Iterator[Pool | None]:
    """Start workers, or connect to those of a cluster. There are none (`None`) where one process is enough."""
    thresholds = gc.get_threshold()
    if isinstance(jobs, str):
        from porism.parallel.dask import connect

        pools: AbstractContextManager[Pool | None] = connect(jobs)
    else:
        pools = local_processes(jobs or cores())
    with pools as pool:
        if pool is not None:
            gc.set_threshold(OBJECTS, *thresholds[1:])
        try:
            yield pool
        finally:
            gc.set_threshold(*thresholds)


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
        """Yield label and result of each task so far, then of more tasks, at most `window` of them in flight."""
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
    """Run a task without the search for reference cycles: there are none, and it takes a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return function(task)
    finally:
        if enabled:
            gc.enable()
