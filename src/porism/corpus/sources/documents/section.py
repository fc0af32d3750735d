"""Documents and their sections: what every reader of documents returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from porism.corpus.post import LEVEL
from porism.text.find import Extracted
from porism.text.markup import math_span
from porism.text.read import fill


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document under one heading, whose title has the headings above it as levels: HTML in which every
    formula is an official span without an id."""

    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document with its sections in order. `unexpanded` formulas use macros that would write too much."""

    title: str
    tags: tuple[str, ...]
    sections: Sequence[Section]
    unexpanded: int = 0


class HeadingPath:
    """The headings above a place in a document."""

    def __init__(self) -> None:
        self._above: list[tuple[int, str]] = []

    def enter(self, level: int, heading: str) -> str:
        """Return the title of the section under a heading: the headings above it, and the heading itself."""
        self._above = [*(one for one in self._above if one[0] < level), (level, heading)]
        return LEVEL.join(text for _, text in self._above if text)


def with_spans(text: str, found: Extracted, latex: Sequence[str] = ()) -> str:
    """Replace placeholders by official spans without ids. `latex`, if given, replaces what was found."""
    formulas = latex or found.latex

    def span(number: int) -> str:
        sign = "$$" if number in found.displayed else "$"
        return math_span(f"{sign}{formulas[number]}{sign}") if number < len(formulas) else ""

    return fill(text, span)
