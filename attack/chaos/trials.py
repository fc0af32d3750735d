"""A kind of attack, its tries, and what each showed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random


class Lost(Exception):
    """The product did not hold: data was lost, an answer was wrong, something hung, leaked or was left behind."""


@dataclass
class Record:
    """What the tries of one kind showed. `worst` is the longest time until all was well again, in seconds."""

    kind: str
    promise: str
    tried: int = 0
    held: int = 0
    worst: float = 0.0
    losses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @contextmanager
    def attempt(self, name: str) -> Iterator[None]:
        """Run one try: it holds unless it raises Lost. Any other error is a loss, too."""
        self.tried += 1
        try:
            yield
            self.held += 1
        except Lost as error:
            self.losses.append(f"{name}: {error}")
        except Exception as error:
            self.losses.append(f"{name}: {type(error).__name__}: {error}")
        print(f"\r{self.kind:28} {self.held}/{self.tried} held ", end="", file=sys.stderr, flush=True)

    def skip(self, why: str) -> None:
        """Note why this kind, or a part of it, cannot be tried here."""
        self.notes.append(f"skipped: {why}")
        print(f"\r{self.kind:28} skipped: {why} ", end="", file=sys.stderr, flush=True)

    def measure(self, seconds: float) -> None:
        """Note how long it took until all was well again."""
        self.worst = max(self.worst, seconds)


@dataclass(frozen=True)
class Stage:
    """What all kinds of attack share: a folder of their own, the number of tries, and random numbers."""

    folder: Path
    tries: int
    rng: Random
    long: bool = False


@dataclass(frozen=True)
class Kind:
    """A kind of attack: its name, what must hold, and the function that tries it. `share`: the part of the tries that
    it makes."""

    name: str
    promise: str
    run: Callable[[Stage, Record], None]
    share: float = 1.0


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> float:
    """Wait for a condition, and return the seconds that it took."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise Lost(f"{what} within {seconds:.0f} s")
        time.sleep(0.01)
    return time.monotonic() - began
