"""The first process of the fuzzer: gives blocks of inputs to workers, replaces those that die, and collects what they
found."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path

from attack.fuzz.reader import Reader
from attack.fuzz.worker import Block, Finding, Outcome, SlowestPump, State, serve

WALL_SECONDS = 90.0  # for one input; the processor may be busy with other work
_FRAME = re.compile(r'File "([^"]*)", line \d+ in (\S+)')


@dataclass
class Tally:
    """What a reader's inputs gave."""

    inputs: int = 0
    cpu_seconds: float = 0.0
    worst_seconds: float = 0.0
    peak_memory: int = 0
    causes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    examples: list[Finding] = field(default_factory=list)
    new: list[bytes] = field(default_factory=list)
    pumps: int = 0
    slowest: SlowestPump = field(default_factory=lambda: SlowestPump(0.0, ""))

    def add(self, outcome: Outcome) -> None:
        """Add the outcome of a block."""
        self.inputs += outcome.inputs
        self.cpu_seconds += outcome.cpu_seconds
        self.worst_seconds = max(self.worst_seconds, outcome.worst_seconds)
        self.peak_memory = max(self.peak_memory, outcome.peak_memory)
        self.new += outcome.new
        if outcome.slowest is not None:
            self.pumps += outcome.inputs
            self.slowest = max(self.slowest, outcome.slowest)
        for finding in outcome.findings:
            self.find(finding)

    def find(self, finding: Finding) -> None:
        """Count a finding; the first of each cause is kept, and any shorter one instead of it."""
        self.causes[finding.cause] += 1
        known = [at for at, one in enumerate(self.examples) if one.cause == finding.cause]
        if not known:
            self.examples.append(finding)
            fact = f"{finding.reader}: {finding.kind} in {finding.place} {finding.message}"
            print(f"\n{fact}\n  {finding.data[:2000]!r}", file=sys.stderr, flush=True)  # a long run may be stopped
        elif len(finding.data) < len(self.examples[known[0]].data):
            self.examples[known[0]] = finding


class Worker:
    """A forked process with what its readers need already in memory."""

    def __init__(self, readers: dict[str, Reader], folder: Path, number: int) -> None:
        self.state = State()
        self.block: Block | None = None
        self.folder = folder / f"worker-{number}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.connection, other = Pipe()
        self.pid = os.fork()
        if not self.pid:
            self._run(readers, other)
        other.close()
        self.seen, self.since = 0, time.monotonic()

    def _run(self, readers: dict[str, Reader], tasks: Connection) -> None:
        code = 1
        try:
            self.connection.close()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            serve(readers, tasks, self.state, self.folder)
            code = 0
        finally:
            os._exit(code)

    def start(self, block: Block) -> None:
        """Give the worker a block."""
        self.block = block
        self.state.set(0, b"")
        self.seen, self.since = 0, time.monotonic()
        self.connection.send(block)

    def is_stuck(self) -> bool:
        """Return whether the present input takes more time of the clock than any may."""
        number = self.state.get()[0]
        if number != self.seen:
            self.seen, self.since = number, time.monotonic()
        return time.monotonic() - self.since > WALL_SECONDS

    def end(self) -> str:
        """End the process and return how it ended."""
        with contextlib.suppress(OSError):
            self.connection.send(
                None
            )  # later workers hold copies of this connection, so closing it alone would tell nothing
        self.connection.close()
        stuck = self.block is not None and self.is_stuck()
        if stuck:
            os.kill(self.pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        for path in self.folder.iterdir():  # a dead process cannot remove its files
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
        if stuck or status == -signal.SIGPROF:
            return "hang"
        return f"crash ({signal.Signals(-status).name if status < 0 else f'exit code {status}'})"

    def fault(self) -> Finding:
        """Return the finding of a worker that died."""
        assert self.block is not None
        data = self.state.get()[1]
        kind = self.end()
        trace = self.folder.with_suffix(".trace").read_text(errors="replace")
        frames = [frame for frame in _FRAME.findall(trace) if "/attack/" not in frame[0]]
        own = [frame for frame in frames if "/porism/" in frame[0]] or frames
        path, function = own[0] if own else ("", "unknown")
        place = f"{Path(path).parent.name}/{Path(path).name}:{function}"
        return Finding(self.block.reader, kind, place, "", data)


def run(
    readers: dict[str, Reader],
    blocks: Iterable[Block],
    jobs: int,
    folder: Path,
    done: Callable[[str, Tally], None] = lambda name, tally: None,
    deadline: float = float("inf"),
) -> dict[str, Tally]:
    """Run all blocks, at most until a deadline of the monotonic clock, and return what each reader's inputs gave."""
    tallies: dict[str, Tally] = {name: Tally() for name in readers}
    waiting = deque(blocks)
    workers = [Worker(readers, folder, number) for number in range(jobs)]
    for worker in workers:
        _next(worker, waiting, deadline)
    while any(worker.block for worker in workers):
        ready = wait([worker.connection for worker in workers if worker.block], timeout=5.0)
        for number, worker in enumerate(workers):
            if worker.block is None or (worker.connection not in ready and not worker.is_stuck()):
                continue
            tally = tallies[worker.block.reader]
            outcome = _receive(worker)
            if outcome is None:
                waiting.extendleft(_lost(worker, tally))
                workers[number] = worker = Worker(readers, folder, number)
            else:
                tally.add(outcome)
                done(outcome.block.reader, tally)
            _next(worker, waiting, deadline)
    for worker in workers:
        worker.end()
    return tallies


def _next(worker: Worker, waiting: deque[Block], deadline: float) -> None:
    worker.block = None
    if waiting and time.monotonic() < deadline:
        worker.start(waiting.popleft())


def _receive(worker: Worker) -> Outcome | None:
    """Return the outcome of a block; None if the worker died or is stuck."""
    try:
        if worker.connection.poll():
            outcome: Outcome = worker.connection.recv()
            return outcome
    except (EOFError, OSError):
        pass
    return None


def _lost(worker: Worker, tally: Tally) -> list[Block]:
    """Record why a worker died; return what is left of its block."""
    block = worker.block
    assert block is not None
    number = worker.state.get()[0]
    tally.inputs += number
    tally.find(worker.fault())
    if block.corpus or block.alone:
        return [block._replace(skip=block.skip + number)]
    if number >= block.count:
        return []
    if block.pumps >= 0:
        return [block._replace(pumps=block.pumps + number, count=block.count - number)]
    return [block._replace(seed=f"{block.seed}+{number}", count=block.count - number)]
