"""What is wrong with a formula, and where in the text that a person typed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """A remark on the characters from `start` to `end` of the user's text."""

    message: str
    start: int
    end: int
