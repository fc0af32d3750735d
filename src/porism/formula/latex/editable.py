"""LaTeX under repair, with the position of each character in the text that the user typed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with the characters from `start` to `end` of the user's text."""

    message: str
    start: int
    end: int


class Edit(NamedTuple):
    """New text in place of the characters from start to end."""

    start: int
    end: int
    new: str


class EditableLatex:
    """The text after the repairs so far, their names, and problems at positions in the user's text."""

    __slots__ = ("length", "positions", "problems", "repairs", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.length = len(text)
        self.positions = list(range(len(text) + 1))
        self.repairs: list[str] = []
        self.problems: list[Problem] = []

    def replace(self, start: int, end: int, new: str) -> None:
        """Replace the characters from start to end."""
        self.apply((Edit(start, end, new),))

    def apply(self, edits: Iterable[Edit]) -> None:
        """Make edits in one pass; positions are those before the first: in order, none inside another."""
        parts: list[str] = []
        positions: list[int] = []
        last = 0
        for start, end, new in edits:
            parts += self.text[last:start], new
            positions += self.positions[last:start]
            positions += [self.positions[start]] * len(new)
            last = min(end, len(self.text))
        parts.append(self.text[last:])
        positions += self.positions[last:]
        self.text, self.positions = "".join(parts), positions

    def sub(self, pattern: re.Pattern[str], new: str | Callable[[re.Match[str]], str], repair: str) -> bool:
        """Replace every match of a pattern. Return whether something changed, and note the repair if so."""
        edits: list[Edit] = []
        for found in pattern.finditer(self.text):
            text = found.expand(new) if isinstance(new, str) else new(found)
            if text != found[0]:
                edits.append(Edit(found.start(), found.end(), text))
        if edits:
            self.apply(edits)
            self.note_repair(repair)
        return bool(edits)

    def note_repair(self, name: str) -> None:
        """Note the name of a repair, once however often it was done."""
        if name not in self.repairs:
            self.repairs.append(name)

    def note_problem(self, message: str, start: int, end: int) -> None:
        """Note a problem with characters of the present text."""
        self.problems.append(self.problem(message, start, end))

    def problem(self, message: str, start: int, end: int) -> Problem:
        """Return a problem with characters of the present text; its position is in the user's text."""
        start = min(max(start, 0), len(self.text))
        end = min(max(end, start), len(self.text))
        first = self.positions[start]
        last = min(self.positions[end - 1] + 1, self.length) if end > start else first
        return Problem(message, first, max(last, first))
