"""The process that reads hostile inputs. It has limits of processor time and memory, and may die: the first process
sees why."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import signal
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from mmap import mmap
from multiprocessing.connection import Connection
from pathlib import Path
from struct import pack_into, unpack_from
from typing import NamedTuple

from attack.fuzz.inputs import Inputs, corpus_of, grown_of
from attack.fuzz.openers import Frame, Pump, PumpedInput, in_frames, pumped_inputs
from attack.fuzz.reader import Reader, Wrong
from porism.errors import PorismError

STATE_BYTES = 1 << 20
MEMORY_BYTES = 2**30  # more than the process had before the first input
SLOW_SECONDS = 0.5  # of the clock; such an input is measured again, with the processes that it uses
SUSPECT_SECONDS = 0.02  # of a pumped input, after which its growth is measured
GROWTH = 3.5  # how many times longer an input of twice the length may take; quadratic time gives 4
GROWN_SECONDS = 0.5  # that the longest pumped input may take anyway
GROWTH_TRIES = 12  # half and whole are read in turn, and their least times compared: other work slows single tries


class Block(NamedTuple):
    """Inputs for a worker: `count` of them, made from `seed`; `corpus` means those of the corpus instead, after the
    first `skip`."""

    reader: str
    seed: str
    count: int
    corpus: bool = False
    skip: int = 0
    alone: bool = False  # only the seeds of the reader itself, not the corpus folder
    pumps: int = -1  # pumped inputs from this number on; -1: none


class Finding(NamedTuple):
    """A fault and the input that shows it. `place` is where it happened, `kind` what: an exception's name, hang, crash,
    memory, leak."""

    reader: str
    kind: str
    place: str
    message: str
    data: bytes

    @property
    def cause(self) -> tuple[str, str, str]:
        """Return what two inputs with the same fault share."""
        return self.reader, self.kind, self.place


class SlowestPump(NamedTuple):
    """The pumped input that took the most time for its length: seconds for 100,000 characters, and what was
    repeated."""

    seconds: float
    run: str


class Outcome(NamedTuple):
    """What a block of inputs gave."""

    block: Block
    inputs: int
    cpu_seconds: float
    worst_seconds: float
    peak_memory: int
    findings: list[Finding]
    new: list[bytes]
    slowest: SlowestPump | None = None


class State:
    """Memory that a worker and the first process share: how many inputs of the block are done, and the present one."""

    def __init__(self) -> None:
        self._memory = mmap(-1, STATE_BYTES)

    def set(self, number: int, data: bytes) -> None:
        """Record the input that is read now."""
        kept = data[: STATE_BYTES - 16]
        pack_into("<QQ", self._memory, 0, number, len(kept))
        self._memory[16 : 16 + len(kept)] = kept

    def get(self) -> tuple[int, bytes]:
        """Return the number of the present input, and the input."""
        number, length = unpack_from("<QQ", self._memory, 0)
        return number, self._memory[16 : 16 + length]


def serve(readers: dict[str, Reader], tasks: Connection, state: State, folder: Path) -> None:
    """Run blocks until the connection is closed."""
    tempfile.tempdir = str(folder)
    trace = open(folder.with_suffix(".trace"), "w+")  # noqa: SIM115 - the process ends with it
    set_limits(trace.fileno())
    with contextlib.suppress(EOFError):
        while (block := tasks.recv()) is not None:
            trace.truncate(0)
            tasks.send(run_block(readers[block.reader], block, state, folder))


def set_limits(trace: int) -> None:
    """Limit memory, and write where the process is when its processor time runs out or it crashes."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY_BYTES, size + MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable(trace)
    faulthandler.register(signal.SIGPROF, trace, all_threads=True, chain=True)


def pumps_of_reader(reader: Reader) -> Sequence[tuple[Frame, Pump]]:
    """Return what a reader is pumped with. It takes seconds once, and workers are forked from a process that has it."""
    return reader.own_pumps() if reader.own_pumps else in_frames(tuple(reader.frames), tuple(reader.tokens))


def run_pumps(reader: Reader, block: Block, state: State, folder: Path) -> Outcome:
    """Read the pumped inputs of a block; where the time grows faster than the length, read a long one."""
    if reader.start is not None:
        reader.start()
    findings: list[Finding] = []
    slowest = SlowestPump(0.0, "")
    began, worst, number, descriptors = time.process_time(), 0.0, 0, _descriptors()
    pumps = pumped_inputs(pumps_of_reader(reader), block.seed, block.pumps, block.count, reader.pumped)
    for number, pumped in enumerate(pumps, 1):
        seconds, fault = _pumped(reader, pumped, state, number)
        worst = max(worst, seconds)
        slowest = max(slowest, SlowestPump(seconds * 100_000 / pumped.length, ascii(pumped.pump.run)[:60]))
        if fault is not None:
            findings.append(fault)
    signal.setitimer(signal.ITIMER_PROF, 0)
    findings += _leaks(reader, descriptors, folder, state)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Outcome(block, number, time.process_time() - began, worst, peak, findings, [], slowest)


def _pumped(reader: Reader, pumped: PumpedInput, state: State, number: int) -> tuple[float, Finding | None]:
    """Read a pumped input; return the processor seconds, and the fault if there is one."""

    def read(length: int) -> tuple[float, Finding | None]:
        data = pumped.data(length)
        state.set(number, data)
        seconds, fault, _ = run_input(reader, data)
        return seconds, fault

    seconds, fault = read(pumped.length)
    if fault is not None or seconds < SUSPECT_SECONDS or read(pumped.length // 2)[0] * GROWTH > seconds:
        return seconds, fault
    seconds, fault = read(reader.pumped)  # what is quadratic exceeds the limit of time here
    if fault is not None or seconds < GROWN_SECONDS:
        return seconds, fault
    half = read(reader.pumped // 2)[0]
    for _ in range(GROWTH_TRIES):
        if seconds <= GROWN_SECONDS or half * GROWTH >= seconds:
            return seconds, fault
        half, seconds = min(half, read(reader.pumped // 2)[0]), min(seconds, read(reader.pumped)[0])
    message = f"{seconds:.2f} s for {reader.pumped:,} characters, {half:.2f} s for half of them"
    return seconds, Finding(reader.name, "growth", ascii(pumped.pump.run)[:80], message, pumped.data(reader.pumped))


def run_block(reader: Reader, block: Block, state: State, folder: Path) -> Outcome:
    """Read the inputs of a block one after another."""
    if block.pumps >= 0:
        return run_pumps(reader, block, state, folder)
    seeds = list(reader.seeds()) if block.alone else corpus_of(reader)
    inputs = Inputs(reader, [*seeds, *grown_of(reader.name)], block.seed)
    if reader.start is not None:
        reader.start()
    findings: list[Finding] = []
    new: list[bytes] = []
    began, worst, number, descriptors = time.process_time(), 0.0, 0, _descriptors()
    for number, data in enumerate(seeds[block.skip :] if block.corpus or block.alone else inputs.take(block.count), 1):
        state.set(number, data)
        seconds, fault, behaviour = run_input(reader, data)
        worst = max(worst, seconds)
        if fault is not None:
            findings.append(fault)
        elif inputs.report(data, behaviour) and len(data) < 2000:
            new.append(data)
    signal.setitimer(signal.ITIMER_PROF, 0)
    findings += _leaks(reader, descriptors, folder, state)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Outcome(block, number, time.process_time() - began, worst, peak, findings, new[:20])


def run_input(reader: Reader, data: bytes) -> tuple[float, Finding | None, object]:
    """Read one input within its time; return the processor seconds, the fault if there is one, and what happened."""
    signal.setitimer(signal.ITIMER_PROF, reader.cpu_seconds)  # its signal ends the process
    clock, began = time.monotonic(), time.process_time()
    fault: Finding | None = None
    behaviour: object = None
    try:
        behaviour = reader.read(data)
    except PorismError as error:
        behaviour = "refused", "".join(c for c in str(error)[:80] if not c.isdigit())
    except Exception as error:
        kind = "wrong" if isinstance(error, Wrong) else type(error).__name__
        kind = "memory" if kind == "MemoryError" else kind
        fault = Finding(reader.name, kind, place_of(error), _one_line(str(error)), data)
    seconds = time.process_time() - began
    if fault is None and time.monotonic() - clock > SLOW_SECONDS:
        signal.setitimer(signal.ITIMER_PROF, 2 * reader.cpu_seconds)
        seconds = max(seconds, _with_children(reader, data))
        if seconds > reader.cpu_seconds:
            fault = Finding(reader.name, "hang", "with its child processes", f"{seconds:.1f} s", data)
    return seconds, fault, behaviour


def _with_children(reader: Reader, data: bytes) -> float:
    """Return the processor seconds of reading an input again, with those of the child processes."""
    before = _tree_seconds()
    with contextlib.suppress(Exception):
        reader.read(data)
    return _tree_seconds() - before


def _tree_seconds() -> float:
    """Return the processor seconds of this process, of its ended children and of its living ones."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time() + usage.ru_utime + usage.ru_stime
    for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def place_of(error: BaseException) -> str:
    """Return the last line of Porism's own code in a traceback, else the last line of all."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/porism/" in frame.filename]
    frame = (own or list(frames))[-1]
    return f"{Path(frame.filename).parent.name}/{Path(frame.filename).name}:{frame.name}"


def _one_line(text: str) -> str:
    return ascii(text[:200])[1:-1]


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _leaks(reader: Reader, before: int, folder: Path, state: State) -> Iterator[Finding]:
    """Report descriptors that stay open and files that stay in the temporary folder."""
    more = _descriptors() - before
    if more > reader.descriptors:
        yield Finding(reader.name, "leak", "file descriptors", f"{more} more after a block", state.get()[1])
    if left := [path.name for path in folder.iterdir()]:
        yield Finding(reader.name, "leak", "temporary files", f"{len(left)}: {left[0]}", state.get()[1])
        for path in folder.rglob("*"):
            with contextlib.suppress(OSError):
                path.unlink()
