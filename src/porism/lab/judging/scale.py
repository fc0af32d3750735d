"""The scale of grades: codes, names, keyboard shortcuts and definitions, read from scale.toml."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import NamedTuple

# From this grade on, an item counts as relevant in binary measures ("H+M").
RELEVANT = 2


class Grade(NamedTuple):
    """One grade of the scale. `key` is its keyboard shortcut; a grade with `comment` must be explained."""

    code: int
    name: str
    key: str
    answers: str
    formulas: str
    comment: bool = False

    @property
    def graded(self) -> bool:
        """Whether it is a degree of relevance (0 to 3) and not a code for "not judged"."""
        return self.code <= 3

    def meaning(self, task: int) -> str:
        """Return the definition of the grade for a task."""
        return self.formulas if task == 2 else self.answers


@functools.cache
def grades() -> tuple[Grade, ...]:
    """Return all grades, best first, with the two codes for "not judged" last."""
    text = resources.files("porism.lab.judging").joinpath("scale.toml").read_text(encoding="utf-8")
    return tuple(Grade(**row) for row in tomllib.loads(text)["grade"])


def grade(code: int | str) -> Grade | None:
    """Return the grade with this code (a number, or its text), or None: neither 4 nor any other number is a grade."""
    return next((step for step in grades() if code in (step.code, str(step.code))), None)
