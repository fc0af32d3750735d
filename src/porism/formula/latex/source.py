"""A text under repair that remembers where each of its characters stood in what the user typed."""

from __future__ import annotations

import re
from collections.abc import Callable

from porism.formula.problems import Problem


class Source:
    """The text as it is now, the repairs done so far, and the problems found, with positions in the user's text."""

    __slots__ = ("length", "problems", "repairs", "text", "where")

    def __init__(self, text: str) -> None:
        self.text = text
        self.length = len(text)
        self.where = list(range(len(text) + 1))
        self.repairs: list[str] = []
        self.problems: list[Problem] = []

    def splice(self, start: int, end: int, new: str) -> None:
        """Put `new` in the place of the characters from start to end."""
        end = min(end, len(self.text))
        self.text = self.text[:start] + new + self.text[end:]
        self.where[start:end] = [self.where[start]] * len(new)

    def sub(self, pattern: re.Pattern[str], new: str | Callable[[re.Match[str]], str], repair: str) -> bool:
        """Replace every match; one that would stay as it is does not count. True when something changed."""
        parts: list[str] = []
        where: list[int] = []
        last, changed = 0, 0
        for found in pattern.finditer(self.text):
            text = found.expand(new) if isinstance(new, str) else new(found)
            if text == found[0]:
                continue
            start, end = found.span()
            parts += self.text[last:start], text
            where += self.where[last:start]
            where += [self.where[start]] * len(text)
            last = end
            changed += 1
        if changed:
            parts.append(self.text[last:])
            where += self.where[last:]
            self.text, self.where = "".join(parts), where
            self.repaired(repair)
        return bool(changed)

    def repaired(self, name: str) -> None:
        """Note a repair, once however often it was done."""
        if name not in self.repairs:
            self.repairs.append(name)

    def problem(self, message: str, start: int, end: int) -> None:
        """Record a problem at a place of the text as it is now."""
        self.problems.append(self.located(message, start, end))

    def located(self, message: str, start: int, end: int) -> Problem:
        """A problem whose place in the present text is told in the user's text."""
        start = min(max(start, 0), len(self.text))
        end = min(max(end, start), len(self.text))
        first = self.where[start]
        last = min(self.where[end - 1] + 1, self.length) if end > start else first
        return Problem(message, first, max(last, first))
