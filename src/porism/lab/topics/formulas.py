"""The query formula of a Task 2 topic: the title's where it offers one, complexity and elements balanced over topics."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from porism.records import Topic, TopicFormula

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[A-Za-z]|\d+|[^\s{}]")
LEAST = 3  # tokens; a lone letter is no query
COMPLEXITY = ((8, "low"), (20, "medium"))  # up to so many tokens; above: high
ELEMENTS = {
    "integral": r"\\i*int\b|\\oint",
    "limit": r"\\lim",
    "sum": r"\\sum|\\prod",
    "matrix": r"matrix\}|\\det",
    "fraction": r"\\[dt]?frac|\\over\b|\\binom",
    "root": r"\\sqrt",
    "set": r"\\(in|cup|cap|subset|mathbb)",
    "relation": r"[=<>]|\\(leq?|geq?|neq?|equiv|sim|approx)\b",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A formula with what it is balanced by."""

    formula: TopicFormula
    complexity: str
    elements: tuple[str, ...]


def complexity(latex: str) -> str:
    """low, medium or high, by the number of tokens."""
    size = len(TOKEN.findall(latex))
    return next((name for most, name in COMPLEXITY if size <= most), "high")


def elements(latex: str) -> tuple[str, ...]:
    """What kinds of sign the formula has."""
    return tuple(name for name, pattern in ELEMENTS.items() if re.search(pattern, latex)) or ("plain",)


def suitable(formulas: Iterable[TopicFormula]) -> list[TopicFormula]:
    """Formulas that can be asked for: the title's if it has one, else the body's."""
    every = [formula for formula in formulas if len(TOKEN.findall(formula.latex)) >= LEAST]
    return [formula for formula in every if formula.field == "title"] or every


def choose(topics: Sequence[Topic]) -> dict[str, Choice]:
    """A formula for each topic that has a suitable one: of the possible ones, that whose complexity and elements were chosen least so far."""
    used: Counter[str] = Counter()
    chosen: dict[str, Choice] = {}
    for topic in topics:
        options = [
            Choice(formula, complexity(formula.latex), elements(formula.latex)) for formula in suitable(topic.formulas)
        ]
        if not options:
            continue
        best = min(options, key=lambda one: (used[one.complexity], min(used[name] for name in one.elements)))
        used.update([best.complexity, *best.elements])
        chosen[topic.id] = best
    return chosen
