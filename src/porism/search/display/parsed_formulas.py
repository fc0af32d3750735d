"""Parsed formulas of posts, cached: trees and MathML that many queries need again.

The caches are bounded. Their values depend on the LaTeX alone, so they never become stale and serve all queries."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from porism.analysis.classes import NUMBER, VARIABLE, symbol_kind
from porism.analysis.flat import FlatLayout, flat_layout
from porism.caching import cached_text
from porism.deadline import check
from porism.formula import Parsed, latex_to_mathml, parse
from porism.formula.match.matcher import PreparedTree
from porism.search.display.readable import readable_latex

_CLASSES = {VARIABLE: "variable", NUMBER: "number"}
MAX_TREES, MAX_LABELS = 2_000, 20_000  # a formula with its trees takes about 30 KB
MATHML_BYTES = 12_000_000  # that LaTeX and its MathML take; a formula takes 1 KB on average


class ComparableFormula:
    """A parsed formula with the forms that comparisons need, each computed on first use."""

    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed
        self._layout: FlatLayout | None = None
        self._operators: PreparedTree | None = None
        self._symbol_counts: Counter[str] | None = None

    @property
    def layout(self) -> FlatLayout:
        """The layout tree in reading order."""
        if self._layout is None:
            self._layout = flat_layout(self.parsed.layout)
        return self._layout

    @property
    def operators(self) -> PreparedTree:
        """The operator tree, prepared for matching."""
        if self._operators is None:
            self._operators = PreparedTree(self.parsed.operators)
        return self._operators

    @property
    def symbol_counts(self) -> Counter[str]:
        """How many symbols of the layout tree there are that can be aligned: all variables, all numbers, and each other
        label."""
        if self._symbol_counts is None:
            self._symbol_counts = Counter(map(alignment_class, self.layout.labels))
        return self._symbol_counts


@lru_cache(MAX_LABELS)
def alignment_class(label: str) -> str:
    """Return with which labels a label can be aligned: variables with variables, numbers with numbers, any other with
    itself."""
    return _CLASSES.get(symbol_kind(label), label)


@lru_cache(MAX_TREES)
def parsed_formula(latex: str) -> ComparableFormula:
    """Parse a formula of a post, without what a converter left in it."""
    parsed = parse(readable_latex(latex))
    check()  # a conversion that the time limit ended must not be kept
    return ComparableFormula(parsed)


@cached_text(MATHML_BYTES)
def mathml_of(latex: str) -> str:
    """Return the clean MathML of a formula of a post."""
    mathml = latex_to_mathml(readable_latex(latex))
    check()  # a conversion that the time limit ended must not be kept
    return mathml
