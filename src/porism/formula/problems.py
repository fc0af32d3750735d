"""Problems in the LaTeX of a formula, with positions in the user's text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with the characters from `start` to `end` of the user's text."""

    message: str
    start: int
    end: int
