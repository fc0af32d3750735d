"""A supervisor: a process that serves nothing, starts worker processes, and replaces those that die or freeze.

Each worker writes a byte to a pipe ten times a second. One that is silent may be frozen (`pulse` says when): it is
killed and replaced. Workers are forked from the supervisor, which has imported all modules, so that a new one is ready
soon. The kernel kills them when the supervisor dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from porism.errors import PorismError

# in succession that find a process stopped. After Ctrl-Z and fg, a first look may come before the process runs again
STOPPED_LOOKS = 4
BUSY_SECONDS = 0.8  # of silence and of processor time: some computation holds the interpreter's lock
START_FACTOR = 3  # a process that starts may be silent for longer: it reads files and compiles
STARVED_FACTOR = 6  # and so may one that waits for a processor
STOPPED = "T"


class ProcessUsage(NamedTuple):
    """The state of a process as the kernel names it, and the seconds of processor time that it has used."""

    state: str
    processor: float


def usage_of(pid: int) -> ProcessUsage | None:
    """Return what a process uses; None where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        return ProcessUsage(fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    except (OSError, IndexError, ValueError):
        return None


def queued_seconds(pid: int) -> float:
    """Return how long all threads of a process have waited for a processor; 0 where the system does not say."""
    try:
        files = [Path(entry.path, "schedstat") for entry in os.scandir(f"/proc/{pid}/task")]
        return sum(int(file.read_text("ascii").split()[1]) for file in files) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


@dataclass(slots=True)
class SilenceLimits:
    """How long a process may be silent: `frozen` seconds, and while it computes `busy` seconds of processor time."""

    frozen: float
    busy: float = BUSY_SECONDS


@dataclass(slots=True)
class Pulse:
    """The silence of a process, and what it did meanwhile."""

    pid: int
    silent: float = 0.0
    _processor: float | None = None  # at the last sign of life
    _stopped: int = 0  # looks in succession
    _patience: tuple[float, float] | None = None  # silence and time in the queue, when the process became suspect

    def beat(self) -> None:
        """Note a sign of life."""
        self.silent, self._processor, self._patience = 0.0, None, None

    def look(self, limits: SilenceLimits, starting: bool = False) -> str:
        """Return why the process is frozen, or nothing if it is not."""
        usage = usage_of(self.pid)
        if usage is not None:
            if self._processor is None:
                self._processor = usage.processor
            self._stopped = self._stopped + 1 if usage.state == STOPPED else 0
            if self._stopped >= STOPPED_LOOKS:
                return "is stopped"
            used = usage.processor - self._processor
            if not starting and self.silent >= limits.busy and used >= limits.busy:
                return f"gives no sign of life for {self.silent:.1f} s, in which it computed for {used:.1f} s,"
        if self.silent >= BUSY_SECONDS and self._patience is None:
            self._patience = self.silent, queued_seconds(self.pid)
        if self.silent > limits.frozen * (START_FACTOR if starting else 1) and not self._is_starved(limits):
            return f"gives no sign of life for {self.silent:.1f} s"
        return ""

    def _is_starved(self, limits: SilenceLimits) -> bool:
        """Return whether the process mostly waited for a processor. After a long silence that is no excuse."""
        if self._patience is None or self.silent > limits.frozen * STARVED_FACTOR:
            return False
        silent, queued = self._patience
        return 2 * (queued_seconds(self.pid) - queued) > self.silent - silent > 0


LOG = logging.getLogger("porism.web")
BEAT_SECONDS = 0.1  # between two signs of life
TICK_SECONDS = 0.1  # between two looks at the workers
FROZEN_SECONDS = 5.0  # of silence, after which a worker is killed that neither computes nor is stopped
STOP_SECONDS = 10.0  # for requests to finish after SIGTERM
KILL_SECONDS = 2.0  # more, before workers that have not stopped are killed
FREE_FAILURES = 2  # starts in succession that may fail before the next is delayed: a kill may hit a worker that starts
FIRST_DELAY, LARGEST_DELAY = 0.25, 30.0  # before a worker is started again after it died while it started
JOB_DELAY = 0.5  # before a job beside the workers is started again
HANDLED = (signal.SIGINT, signal.SIGTERM)
_PR_SET_PDEATHSIG = 1


class Beats:
    """A worker's end of the pipe to the supervisor. A worker has the number of the one that it replaces."""

    def __init__(self, file: int, worker: int = 0) -> None:
        self._file, self.worker = file, worker
        self._is_ready = threading.Event()
        os.set_blocking(file, False)

    def start(self) -> None:
        """Give signs of life from a thread until the worker serves, and does so itself."""

        def beat_until_ready() -> None:
            while not self._is_ready.wait(BEAT_SECONDS):
                self.beat()

        threading.Thread(target=beat_until_ready, daemon=True).start()

    def ready(self, title: str) -> None:
        """Report that the worker serves."""
        self._is_ready.set()
        self._write(json.dumps({"ready": title}).encode())

    def beat(self) -> None:
        """Give a sign of life. Never blocks, also while the supervisor is stopped."""
        self._write(b"")

    def failed(self, error: PorismError) -> None:
        """Report why the worker cannot start."""
        self._write(json.dumps({"message": error.message, "where": error.where, "fix": error.fix}).encode())

    def _write(self, line: bytes) -> None:
        with contextlib.suppress(OSError):
            os.write(self._file, line + b"\n")


Work = Callable[[Beats], None]


class Job(NamedTuple):
    """Work of one process beside those that serve: its name, and how long it may be silent. It is always restarted."""

    name: str
    work: Work
    frozen_seconds: float = 300.0


@dataclass(slots=True)
class Worker:
    """A worker process and what is known about it."""

    process: ForkProcess
    pipe: int
    pulse: Pulse
    title: str | None = None
    error: PorismError | None = None
    unread: bytes = b""

    def read(self) -> None:
        """Read what the worker has written."""
        try:
            received = os.read(self.pipe, 65536)
        except OSError:
            received = b""
        if received:
            self.pulse.beat()
        *lines, self.unread = (self.unread + received).split(b"\n")
        for line in filter(None, lines):
            report = json.loads(line)
            if "ready" in report:
                self.title = report["ready"]
            else:
                self.error = PorismError(report["message"], where=report["where"], fix=report["fix"])


@dataclass(slots=True)
class _Place:
    """A place for a worker: the worker or, while there is none, the time at which the next one is started."""

    worker: Worker | None = None
    start_at: float = 0.0
    failures: int = 0  # starts in succession that did not succeed
    job: Job | None = None  # None: a process that serves

    @property
    def name(self) -> str:
        """What the log calls the worker."""
        return "worker" if self.job is None else self.job.name


@dataclass(slots=True)
class Supervisor:
    """Runs `work` in several processes until SIGTERM or SIGINT. `on_ready` is called once, when the first one serves.
    `beside` are jobs that run in one process each."""

    number: int
    work: Work
    on_ready: Callable[[str], None] = lambda title: None
    on_stop: Callable[[], None] = lambda: None
    on_replace: Callable[[], None] = lambda: None
    frozen_seconds: float = FROZEN_SECONDS
    stop_seconds: float = STOP_SECONDS
    beside: tuple[Job, ...] = ()
    _places: list[_Place] = field(default_factory=list)
    _signals: list[int] = field(default_factory=list)
    _announced: bool = False

    def run(self) -> int:
        """Supervise until a signal; return its number. Raise a worker's error if no worker has ever been ready."""
        self._places = [_Place() for _ in range(self.number)] + [_Place(job=job) for job in self.beside]
        with self._signal_pipe() as signals:
            try:
                while not self._signals:
                    for number, place in enumerate(self._places):
                        if place.worker is None and time.monotonic() >= place.start_at:
                            place.worker = self._start(number, place.job or Job("worker", self.work))
                    self._look(signals)
            finally:
                self._stop(signals)
        return self._signals[0]

    @contextlib.contextmanager
    def _signal_pipe(self) -> Iterator[int]:
        """Collect signals; each one also writes a byte to a pipe, which ends any waiting."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        os.set_blocking(reading, False)
        handlers = {one: signal.signal(one, self._receive) for one in HANDLED}
        before = signal.set_wakeup_fd(writing)
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(before)
            for one, handler in handlers.items():
                signal.signal(one, handler)
            os.close(reading)
            os.close(writing)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._signals.append(number)

    def _start(self, number: int, job: Job) -> Worker:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        others = [reading, *(place.worker.pipe for place in self._places if place.worker is not None)]
        process = multiprocessing.get_context("fork").Process(
            target=_run, args=(os.getpid(), others, Beats(writing, number), job.work)
        )
        # A signal between the fork and the worker's own handlers would be lost.
        signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
        os.close(writing)
        return Worker(process, reading, Pulse(process.pid or 0))

    def _look(self, signals: int) -> None:
        """Wait a moment, then read signs of life, and replace workers that are dead or frozen."""
        workers = [place.worker for place in self._places if place.worker is not None]
        began = time.monotonic()
        ready = wait([signals, *(worker.process.sentinel for worker in workers)], TICK_SECONDS)
        # If this process was stopped for a while (Ctrl-Z), the workers were probably stopped, too.
        waited = min(time.monotonic() - began, 2 * TICK_SECONDS)
        for place in self._places:
            if place.worker is not None:
                place.worker.pulse.silent += waited
                place.worker.read()
                if place.job is None and place.worker.title is not None and not self._announced:
                    self._announced = True
                    self.on_ready(place.worker.title)
                if place.worker.process.sentinel in ready or self._kill_if_frozen(place, place.worker):
                    self._replace(place, place.worker)

    def _kill_if_frozen(self, place: _Place, worker: Worker) -> bool:
        limits = SilenceLimits(self.frozen_seconds)
        if place.job is not None:
            limits = SilenceLimits(place.job.frozen_seconds, place.job.frozen_seconds)
        why = worker.pulse.look(limits, starting=worker.title is None)
        if why:
            LOG.warning("%s %s %s and is killed", place.name, worker.process.pid, why)
            worker.process.kill()
        return bool(why)

    def _replace(self, place: _Place, worker: Worker) -> None:
        worker.process.join()
        os.close(worker.pipe)
        place.worker = None
        if place.job is None:
            self.on_replace()
        if worker.error is not None and not self._announced and place.job is None:
            raise worker.error
        place.failures = 0 if worker.title is not None else place.failures + 1
        counted = place.failures - FREE_FAILURES
        delay = min(FIRST_DELAY * 2 ** (counted - 1), LARGEST_DELAY) if counted > 0 else 0.0
        delay = delay if place.job is None else max(delay, JOB_DELAY)
        place.start_at = time.monotonic() + delay
        reason = worker.error or f"exit code {worker.process.exitcode}"
        LOG.warning("%s %s ended (%s) and is replaced in %g s", place.name, worker.process.pid, reason, delay)

    def _stop(self, signals: int) -> None:
        """Ask all workers to stop, wait for their requests, then kill the rest. A second signal kills at once."""
        self.on_stop()
        workers = [place.worker for place in self._places if place.worker is not None]
        for worker in workers:
            worker.process.terminate()
        end = time.monotonic() + self.stop_seconds + KILL_SECONDS
        running = {worker.process.sentinel for worker in workers}
        while running and len(self._signals) < 2 and time.monotonic() < end:
            with contextlib.suppress(OSError):
                os.read(signals, 4096)
            running -= set(wait([signals, *running], TICK_SECONDS))
        for worker in workers:
            worker.process.kill()
            worker.process.join()
            os.close(worker.pipe)


def _run(supervisor: int, others: list[int], beats: Beats, work: Work) -> None:
    """Work in a forked process: end with the supervisor, and report an error that a user can fix."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor receives Ctrl-C, too, and stops all
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
    for file in others:
        os.close(file)
    _end_with(supervisor)
    beats.start()
    try:
        work(beats)
    except PorismError as error:
        beats.failed(error)
        sys.exit(1)


def _end_with(supervisor: int) -> None:
    """Let the kernel kill this process when the supervisor dies; where it cannot, a thread waits for that."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != supervisor:  # it died before the call
            os._exit(1)
        return
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
