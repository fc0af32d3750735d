"""Worker processes of this machine."""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Generic, TypeVar

from porism.errors import PorismError
from porism.safe_path import safe_environment, safe_path

# Variables of the environment by which the libraries of linear algebra learn how many threads they may use.
THREAD_LIMITS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

TASKS = 100  # tasks between two searches for reference cycles in a worker

Task = TypeVar("Task")
Result = TypeVar("Result")


_STARTING = threading.Lock()


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
        """Start the workers now, each with a call of this function, so that they are ready when the first task comes.
        Do not wait for them."""
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
        raise PorismError("a worker process died", fix=_advice()) from None


def _advice() -> str:
    """Return what to do when a worker died. Each worker imports the script that started it, which must not start
    workers again."""
    advice = "run the same command again, with fewer --jobs if memory is short"
    script = Path(getattr(sys.modules["__main__"], "__file__", None) or "porism")
    if script.stem in ("porism", "__main__"):
        return advice
    return f'{advice}; {script.name} must call Porism under `if __name__ == "__main__":`'


_done = 0  # tasks of this worker


def run_in_worker(function: Callable[[Task], Result], task: Task) -> Result:
    """Run a task in a worker, where the search for reference cycles is off. In case there are some, look for them from
    time to time."""
    global _done
    _done += 1
    if _done % TASKS == 0:
        gc.collect()
    return function(task)


def prepare_worker() -> None:
    """Switch the search for reference cycles off in a worker, also the last one at its end, and leave Ctrl-C to its
    parent."""
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
