"""LaTeX to Presentation MathML by a library: math-core, else latex2mathml, else nothing (the caller makes an opaque node)."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

from porism.formula.problems import Problem

MAX_LENGTH = 20_000
MAX_NESTING = 100


@dataclass(frozen=True, slots=True)
class Converted:
    """What a converter made of a formula. `path` is `math-core`, `latex2mathml` or `opaque`."""

    mathml: str
    path: str
    repairs: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


@functools.cache
def _core() -> Any:
    from math_core import LatexToMathML

    return LatexToMathML(fancy_error=False, allow_unreliable_rendering=True)


def to_mathml(latex: str) -> Converted:
    """MathML of any string; never raises."""
    if len(latex) > MAX_LENGTH or nesting(latex) > MAX_NESTING:
        return Converted("", "opaque", (), (Problem("too long or nested too deep to read", 0, len(latex)),))
    try:
        return Converted(_core().convert_with_local_state(latex, displaystyle=False), "math-core")
    except Exception as error:
        problem = _problem(str(error), latex)
    try:
        from latex2mathml.converter import convert

        return Converted(convert(latex), "latex2mathml", (), (problem,))
    except Exception:
        return Converted("", "opaque", (), (problem,))


def nesting(latex: str) -> int:
    """How deep braces, `\\left` and environments nest at most."""
    if latex.count("{") + latex.count("\\left") <= MAX_NESTING:
        return 0
    depth = deepest = 0
    for found in re.finditer(r"\\.|[{}]", latex):
        mark = found[0]
        depth += (mark == "{") - (mark == "}")
        deepest = max(deepest, depth)
    return deepest


def _problem(message: str, latex: str) -> Problem:
    found = re.match(r"(\d+): (.*)", message, re.DOTALL)
    if not found:
        return Problem(message, 0, len(latex))
    start = min(int(found[1]), len(latex))
    return Problem(found[2], start, start + 1)
