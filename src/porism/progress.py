"""How far a build is, told to whoever watches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol


class Progress(Protocol):
    """Someone who watches."""

    def stage(self, name: str, total: int | None = None) -> AbstractContextManager[Callable[[int], None]]:
        """A stage begins; the function is called with each number of things done."""
        ...


class Silent:
    """Nobody watches."""

    @contextlib.contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Nothing is shown."""
        yield lambda number: None


class Bars:
    """A bar on standard error with rate and remaining time."""

    @contextlib.contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """One bar for one stage."""
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
