"""Report the progress of long work: stages, and how many items of each are done."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol


class Progress(Protocol):
    """Receiver of progress reports."""

    def stage(self, name: str, total: int | None = None) -> AbstractContextManager[Callable[[int], None]]:
        """Begin a stage of `total` items; call the function with the number of items done since the last call."""

    def say(self, message: str) -> None:
        """Report something that is no stage."""


class Silent:
    """Progress that shows nothing."""

    @contextlib.contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Begin a stage; show nothing."""
        yield lambda number: None

    def say(self, message: str) -> None:
        """Show nothing."""


class Bars:
    """Progress bars on standard error, with rate and remaining time."""

    @contextlib.contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Begin a stage and show one bar for it."""
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f}"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Bar(*columns, console=Console(stderr=True), transient=False) as bar:
            task = bar.add_task(name, total=total, rate="")

            def advance(number: int) -> None:
                speed = bar.tasks[0].speed
                bar.update(task, advance=number, rate=f"{speed:,.0f}/s" if speed else "")

            yield advance
            bar.update(task, total=bar.tasks[0].completed if total is None else total)

    def say(self, message: str) -> None:
        """Write a line to standard error."""
        print(message, file=sys.stderr)


class Lines:
    """Progress as lines on standard error, for logs: one at most every few seconds, so that short work writes none."""

    def __init__(self, seconds: float = 10.0) -> None:
        self._seconds = seconds

    @contextlib.contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Begin a stage and write how many items are done."""
        began = written = time.monotonic()
        done = 0

        def advance(number: int) -> None:
            nonlocal done, written
            done += number
            now = time.monotonic()
            if now - written >= self._seconds:
                written = now
                left = "" if total is None else f" of {total:,}, {remaining(now - began, done, total)}"
                print(f"{name}: {done:,}{left}", file=sys.stderr, flush=True)

        yield advance

    def say(self, message: str) -> None:
        """Write a line to standard error."""
        print(message, file=sys.stderr, flush=True)


def remaining(seconds: float, done: int, total: int) -> str:
    """Return the time that the rest takes at the rate so far, in words."""
    left = seconds * max(total - done, 0) / max(done, 1)
    return f"about {left / 60:,.0f} minutes remain" if left >= 90 else f"about {left:,.0f} seconds remain"


def for_terminal() -> Progress:
    """Return bars for a terminal, lines for a log."""
    return Bars() if sys.stderr.isatty() else Lines()
