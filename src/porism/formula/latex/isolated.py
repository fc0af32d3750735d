"""Convert a formula in another process, which ends when it takes too long.

The converters are libraries: math-core holds the interpreter's lock while it works. A few converter processes take the
formulas that may cost too much. They start when they are first needed and end with the process that uses them."""

from __future__ import annotations

import atexit
import queue
from typing import NamedTuple

from porism.deadline import remaining
from porism.limited_process import Ended, LimitedProcess, answer_questions

PROCESSES = 2
CPU_SECONDS = 0.5  # for each formula
WAIT_SECONDS = 8.0  # of the clock, for a free process and its answer
MEMORY_BYTES = 2**30


class Task(NamedTuple):
    """A formula to convert by `math-core` (`lenient`: unknown commands as names) or `latex2mathml`."""

    converter: str
    latex: str
    lenient: bool = False


class TooExpensive(Exception):
    """The conversion took too much processor time or memory."""


class Refused(Exception):
    """The converter does not accept the formula; the message is the converter's."""


_free: queue.SimpleQueue[LimitedProcess] = queue.SimpleQueue()
_all = [LimitedProcess(__name__) for _ in range(PROCESSES)]
for _process in _all:
    _free.put(_process)


@atexit.register
def _stop_all() -> None:
    for process in _all:
        process.stop()


def _waiting() -> float:
    """Return how many seconds to wait: no longer than the time limit of the computation."""
    return max(0.0, min(WAIT_SECONDS, remaining()))


def convert_isolated(task: Task) -> str:
    """Return the MathML of a formula, or raise Refused or TooExpensive."""
    try:
        process = _free.get(timeout=_waiting())
    except queue.Empty:
        raise TooExpensive("all converter processes are busy with expensive formulas") from None
    try:
        status, text = process.ask(task, CPU_SECONDS, _waiting())
    except Ended:
        raise TooExpensive(f"the conversion takes more than {CPU_SECONDS} seconds of processor time") from None
    finally:
        _free.put(process)
    if status != "mathml":
        raise Refused(text)
    return str(text)


def serve() -> None:
    """Convert formulas. The work of a converter process."""
    answer_questions(_answer, MEMORY_BYTES)


def _answer(question: tuple[str, str, bool]) -> tuple[str, str]:
    from porism.formula.latex import convert

    task = Task(*question)
    try:
        if task.converter == "latex2mathml":
            return "mathml", convert.latex2mathml(task.latex)
        return "mathml", str(convert.math_core(task.lenient)(task.latex, displaystyle=False))
    except Exception as error:
        return "refused", str(error)
