"""The scale of grades: codes, names, keyboard shortcuts and definitions, read from scale.toml."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources

# From this grade on, an item counts as relevant in binary measures ("H+M").
RELEVANT = 2


@dataclass(frozen=True, slots=True)
class Grade:
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


@functools.cache
def grade(code: int) -> Grade | None:
    """Return the grade with this code, or None: neither 4 nor any other number is a grade."""
    return next((step for step in grades() if step.code == code), None)


def grade_of_text(code: str) -> Grade | None:
    """Return the grade with this code in a form or a journal, or None if the text is no grade."""
    return next((step for step in grades() if str(step.code) == code), None)
