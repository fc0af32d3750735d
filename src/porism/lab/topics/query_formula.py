"""Choose the query formula of each Task 2 topic.

A formula of the title comes first; complexity and kinds of symbols are balanced over the topics.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from porism.records import Topic, TopicFormula

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[A-Za-z]|\d+|[^\s{}]")
MINIMUM_TOKENS = 3  # a single letter makes no query
COMPLEXITY = ((8, "low"), (20, "medium"))  # up to this many tokens; more than that: high
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
class QueryFormula:
    """A formula with the properties over which the choice is balanced."""

    formula: TopicFormula
    complexity: str
    elements: tuple[str, ...]


def complexity(latex: str) -> str:
    """Return low, medium or high, by the number of tokens."""
    size = len(TOKEN.findall(latex))
    return next((name for most, name in COMPLEXITY if size <= most), "high")


def elements(latex: str) -> tuple[str, ...]:
    """Return the kinds of symbols in the formula."""
    return tuple(name for name, pattern in ELEMENTS.items() if re.search(pattern, latex)) or ("plain",)


def suitable(formulas: Iterable[TopicFormula]) -> list[TopicFormula]:
    """Return the formulas that can be a query: those of the title if there are any, else those of the body."""
    long_enough = [formula for formula in formulas if len(TOKEN.findall(formula.latex)) >= MINIMUM_TOKENS]
    return [formula for formula in long_enough if formula.field == "title"] or long_enough


def choose_query_formulas(topics: Sequence[Topic]) -> dict[str, QueryFormula]:
    """Choose a formula for each topic that has a suitable one, by topic id.

    Of several, take the one whose complexity and elements were chosen least often so far.
    """
    used: Counter[str] = Counter()
    chosen: dict[str, QueryFormula] = {}
    for topic in topics:
        options = [
            QueryFormula(formula, complexity(formula.latex), elements(formula.latex))
            for formula in suitable(topic.formulas)
        ]
        if not options:
            continue
        best = min(options, key=lambda option: (used[option.complexity], min(used[name] for name in option.elements)))
        used.update([best.complexity, *best.elements])
        chosen[topic.id] = best
    return chosen
