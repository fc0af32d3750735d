"""Work in other processes: on all cores, or in one whose processor time and memory are limited."""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import multiprocessing
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from porism.errors import PorismError
from porism.safe_path import safe_environment, safe_path

__all__ = ["Pool", "TaskQueue", "cores", "ordered", "start", "workers"]

# Variables of the environment by which the libraries of linear algebra learn how many threads they may use.
THREAD_LIMITS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

# Objects that the process which hands out tasks makes before it looks for reference cycles; usually 700. It makes millions, and no cycles.
OBJECTS = 100_000
TASKS = 100  # tasks between two searches for reference cycles in a worker

Label = TypeVar("Label")
Task = TypeVar("Task")
Result = TypeVar("Result")


_STARTING = threading.Lock()


class _SafeProcess(SpawnProcess):
    """A process with the safe path, which runs the program of this process and nothing else.

    multiprocessing gives it the path of this process. The program of `python < script` is called `<stdin>`; a file of this name in the
    current folder would run."""

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


class Pool(ProcessPoolExecutor):
    """Worker processes."""

    _ending: threading.Thread | None = None

    def end(self) -> None:
        """Let the workers end, which takes them a moment, while the caller goes on. No task may follow."""
        self._ending = threading.Thread(target=super().shutdown)
        self._ending.start()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait until all workers have ended."""
        if self._ending is None:
            super().shutdown(wait, cancel_futures=cancel_futures)
        else:
            self._ending.join()


def cores() -> int:
    """Return how many cores this process may use: its CPU affinity, not the size of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def workers(processes: int) -> Iterator[Pool | None]:
    """Start a pool of worker processes, or none (`None`) where one process is enough.

    When the block ends with an error or Ctrl-C, the workers are terminated at once; they do not finish their tasks. Python with `-E` hides
    the environment from its workers, also that they need a safe path. So there are none."""
    if processes <= 1 or (sys.flags.ignore_environment and not sys.flags.safe_path):
        yield None
        return
    others = set(multiprocessing.active_children())
    thresholds = gc.get_threshold()
    gc.set_threshold(OBJECTS, *thresholds[1:])
    with _environment_of_workers():
        pool = Pool(processes, _SafeContext(), initializer=_prepare_worker)
        try:
            yield pool
        except BaseException:
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
            raise
        finally:
            gc.set_threshold(*thresholds)
            pool.shutdown(cancel_futures=True)


@contextmanager
def _environment_of_workers() -> Iterator[None]:
    """Start processes that have the safe path, among them the one by which multiprocessing tracks resources, and whose linear algebra uses one
    thread. There are as many workers as cores, so that more threads would only wait for each other, which takes processor time."""
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


def start(pool: Pool | None, processes: int, function: Callable[[], object]) -> None:
    """Start the workers now, each with a call of this function, so that they are ready when the first task comes. Do not wait for them."""
    if pool is not None:
        for _ in range(processes):
            pool.submit(function)


class TaskQueue(Generic[Label, Task, Result]):
    """Tasks of one function in the workers of a pool, whose results come in the order in which the tasks were submitted."""

    def __init__(self, pool: Pool, function: Callable[[Task], Result]) -> None:
        self._pool = pool
        self._function = function
        self._waiting: deque[tuple[Label, Future[Result]]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, label: Label, task: Task) -> None:
        """Add a task."""
        with _reported_deaths():
            self._waiting.append((label, self._pool.submit(_run_in_worker, self._function, task)))

    def results(self, tasks: Iterable[tuple[Label, Task]], window: int) -> Iterator[tuple[Label, Result]]:
        """Yield the label and the result of each task so far, then of more tasks, of which at most `window` are in flight."""
        with _reported_deaths():
            for label, task in tasks:
                self.submit(label, task)
                while len(self._waiting) >= window:
                    yield self._first()
            while self._waiting:
                yield self._first()

    def _first(self) -> tuple[Label, Result]:
        label, future = self._waiting.popleft()
        return label, future.result()


def ordered(
    pool: Pool | None, function: Callable[[Task], Result], tasks: Iterable[tuple[Label, Task]], window: int
) -> Iterator[tuple[Label, Result]]:
    """Yield each task's label with its result, in the order of the tasks; at most `window` tasks are in flight.

    Without a pool the tasks run here, one after another."""
    if pool is not None:
        yield from TaskQueue[Label, Task, Result](pool, function).results(tasks, window)
        return
    for label, task in tasks:
        yield label, _run(function, task)


@contextmanager
def _reported_deaths() -> Iterator[None]:
    """Report a worker that died."""
    try:
        yield
    except BrokenProcessPool:
        raise PorismError("a worker process died", fix=_advice()) from None


def _advice() -> str:
    """Return what to do when a worker died. Each worker imports the script that started it, which must not start workers again."""
    advice = "run the same command again, with fewer --jobs if memory is short"
    script = Path(getattr(sys.modules["__main__"], "__file__", None) or "porism")
    if script.stem in ("porism", "__main__"):
        return advice
    return f'{advice}; {script.name} must call Porism under `if __name__ == "__main__":`'


def _run(function: Callable[[Task], Result], task: Task) -> Result:
    """Run a task without the search for reference cycles: what tasks make has none, and looking for them takes a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return function(task)
    finally:
        if enabled:
            gc.enable()


_done = 0  # tasks of this worker


def _run_in_worker(function: Callable[[Task], Result], task: Task) -> Result:
    """Run a task in a worker, where the search for reference cycles is off. In case there are some, look for them from time to time."""
    global _done
    _done += 1
    if _done % TASKS == 0:
        gc.collect()
    return function(task)


def _prepare_worker() -> None:
    """Make a worker end with its parent, and only with it. Switch the search for reference cycles off, also the last one at its end."""
    gc.disable()
    atexit.register(gc.freeze)
    # The parent handles Ctrl-C and terminates the workers; their own tracebacks would hide its message.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A worker waits for tasks without end when its parent was killed, since it holds both ends of the queue itself.
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from importlib import import_module; import_module(sys.argv[2]).serve()"


class Ended(Exception):
    """The process ended before it answered, with this code, or was stopped because it took too long (-SIGKILL)."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class LimitedProcess:
    """The process that runs the function `serve` of a module, which calls `answer_questions`."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._limits: dict[str, str] = {}

    def ask(self, question: object, seconds: float, wait: float) -> Any:
        """Return the answer, which may take these seconds of processor time, and of the clock as many as `wait`. Raise Ended if it takes more."""
        with self._lock:
            child = self._running()
            assert child.stdin is not None
            assert child.stdout is not None
            try:
                with contextlib.suppress(OSError):
                    child.stdin.write(json.dumps([seconds, question]).encode() + b"\n")
                    child.stdin.flush()
                answer = _line(child.stdout, time.monotonic() + wait)
            except BaseException:  # the time of the caller is over; the next answer must not be that to this question
                self.stop()
                raise
            if not answer:
                raise Ended(self.stop())
        return json.loads(answer)

    def _running(self) -> subprocess.Popen[bytes]:
        limits = {name: value for name, value in os.environ.items() if name.startswith("PORISM_")}
        if self._child is not None and limits != self._limits:
            self.stop()
        if self._child is None or self._owner != os.getpid() or self._child.poll() is not None:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-c", START, json.dumps(safe_path()), self._module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=safe_environment(),
            )
            self._owner, self._limits = os.getpid(), limits  # after a fork, the parent's process belongs to the parent
        return self._child

    def stop(self) -> int:
        """End the process; return how it ended."""
        child, self._child = self._child, None
        if child is None or self._owner != os.getpid():
            return 0
        if child.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(0.1)  # it may be ending by itself
        child.kill()
        child.communicate()
        return child.returncode


def _line(stream: IO[bytes], deadline: float) -> bytes:
    """Read a line; empty if the process ends or the deadline passes first."""
    received: list[bytes] = []
    while not (received and received[-1].endswith(b"\n")):
        ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
        part = os.read(stream.fileno(), 1 << 20) if ready else b""
        if not part:
            return b""
        received.append(part)
    return b"".join(received)


def answer_questions(answer: Callable[[Any], object], memory_bytes: int) -> None:
    """Answer what comes on standard input until it is closed. The work of the process."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        seconds, question = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process, whatever holds the interpreter
        found = json.dumps(answer(question))
        signal.setitimer(signal.ITIMER_PROF, 0)
        with contextlib.suppress(BrokenPipeError):
            print(found, flush=True)
