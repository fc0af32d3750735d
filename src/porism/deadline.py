"""Time limits of a computation: set once for a thread, checked inside loops over many items.

A thread cannot be stopped from outside. Code that may take long calls `check()` at short distances, which raises an
error after the time limit. Without a time limit nothing is ever raised. Only the main thread of a process can be
interrupted, by a timer (`processor_limit`)."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from porism.errors import PorismError

if TYPE_CHECKING:
    from concurrent.futures import Executor

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Limit:
    """A time limit: its end by time.monotonic(), and whether something was left out to keep it.

    `give_way` is called by every check, so that a long computation can let shorter ones go first."""

    __slots__ = ("_outer", "end", "give_way", "shortened")

    def __init__(self, end: float, outer: Limit | None = None, give_way: Callable[[], None] | None = None) -> None:
        self.end = end
        self.shortened = False
        self.give_way = give_way
        self._outer = outer

    def shorten(self) -> None:
        """Record that something was left out, here and in the limits around this one."""
        limit: Limit | None = self
        while limit is not None:
            limit.shortened = True
            limit = limit._outer


_current: ContextVar[Limit] = ContextVar("deadline")
_NONE = Limit(math.inf)


class TimeLimitExceeded(PorismError, TimeoutError):
    """The computation took longer than its time limit; also a `TimeoutError`."""

    def __init__(self) -> None:
        super().__init__("the query took too long", fix="send a shorter query with fewer formulas")


@contextmanager
def time_limit(seconds: float, give_way: Callable[[], None] | None = None) -> Iterator[Limit]:
    """Limit the time of a block. A limit inside another one can only be shorter."""
    outer = _current.get(_NONE)
    end = min(outer.end, time.monotonic() + seconds)
    limit = Limit(end, None if outer is _NONE else outer, give_way or outer.give_way)
    token = _current.set(limit)
    try:
        yield limit
    finally:
        _current.reset(token)


@contextmanager
def call_limit(seconds: float | None) -> Iterator[float]:
    """Limit the time of a call to `seconds`, and in any case to what the limit around it leaves. Raise
    TimeLimitExceeded if nothing is left; give the seconds that are left, which a remote store gives its request."""
    with nullcontext() if seconds is None else time_limit(seconds):
        check()
        yield remaining()


class ProcessorLimitExceeded(PorismError):
    """The computation took more processor time than it may."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"takes more than {round(seconds, 1):g} seconds of processor time", fix="write a shorter or simpler text"
        )


class _Stop(BaseException):
    """Raised by the timer, past every handler of errors."""


def _stop(*_: object) -> None:
    raise _Stop


@contextmanager
def processor_limit(seconds: float) -> Iterator[None]:
    """Limit the processor time of a block that only computes. Raise ProcessorLimitExceeded when it is over, also inside
    a search for a pattern.

    Only the main thread can be interrupted, by a timer that Windows lacks; otherwise, and inside another such limit,
    the block is not limited."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "SIGVTALRM") or signal.getsignal(signal.SIGVTALRM) is _stop:
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _stop)
    try:
        try:
            # Again and again: an exception that is raised while an object is destroyed is lost.
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds, _AGAIN_SECONDS)
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except _Stop:
        raise ProcessorLimitExceeded(seconds) from None
    finally:
        signal.signal(signal.SIGVTALRM, before)


_AGAIN_SECONDS = 0.2


def remaining() -> float:
    """Return the seconds that are left; infinity without a time limit."""
    return _current.get(_NONE).end - time.monotonic()


def passed() -> bool:
    """Return whether the time limit has passed."""
    limit = _current.get(_NONE)
    if limit.give_way is not None:
        limit.give_way()
    return time.monotonic() > limit.end


def check() -> None:
    """Raise TimeLimitExceeded if the time limit has passed. Costs less than a microsecond."""
    limit = _current.get(_NONE)
    if time.monotonic() > limit.end:
        raise TimeLimitExceeded
    if limit.give_way is not None:
        limit.give_way()


def shorten() -> None:
    """Record that the result is incomplete, because something was left out to keep the time limit. It should not be
    kept for later."""
    limit = _current.get(_NONE)
    if limit is not _NONE:
        limit.shorten()


def in_threads(function: Callable[[Argument], Result]) -> Callable[[Argument], Result]:
    """Return the function with the present time limit, for threads of a pool, which have none of their own."""
    limit = _current.get(_NONE)

    def limited(argument: Argument) -> Result:
        token = _current.set(limit)
        try:
            check()
            return function(argument)
        finally:
            _current.reset(token)

    return limited


def shared(
    executor: Executor, function: Callable[[Argument], Result], tasks: Sequence[Argument], here: int = 1
) -> list[Result]:
    """Return the results of all tasks: the first ones are computed here, the others by a thread meanwhile, or here if
    none is free."""
    own, others = tasks[:here], tasks[here:]
    waiting = executor.submit(in_threads(lambda rest: [function(task) for task in rest]), others)
    results = [function(task) for task in own]
    # Waking a thread takes time; what it has not begun by now is done sooner here.
    return results + ([function(task) for task in others] if waiting.cancel() else waiting.result())
