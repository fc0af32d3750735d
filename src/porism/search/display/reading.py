"""Formulas of posts as they were last read: what is shown and compared again and again is not made again.

Everything here is bounded and follows from the LaTeX alone, so that it never goes stale and serves all queries.
"""

from __future__ import annotations

from functools import lru_cache

from porism.formula import Parsed, parse
from porism.formula.match.matcher import Ready
from porism.index.analysis.features import COMMUTATIVE, RENAMED, part_terms
from porism.index.analysis.flat import FlatLayout, flat_layout, flat_operators
from porism.index.analysis.terms import code

# A formula with its trees takes about 30 KB, its MathML 1 KB, its codes less.
TREES, TEXTS = 2_000, 20_000


class Reading:
    """A formula with its trees; what a comparison needs is made when first asked for."""

    __slots__ = ("_flat", "_ready", "parsed")

    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed
        self._flat: FlatLayout | None = None
        self._ready: Ready | None = None

    @property
    def flat(self) -> FlatLayout:
        """The layout tree in reading order."""
        if self._flat is None:
            self._flat = flat_layout(self.parsed.layout)
        return self._flat

    @property
    def ready(self) -> Ready:
        """The operator tree, ready to be matched."""
        if self._ready is None:
            self._ready = Ready(self.parsed.operators)
        return self._ready


@lru_cache(TREES)
def reading(latex: str) -> Reading:
    """A formula of a post."""
    return Reading(parse(latex))


@lru_cache(TEXTS)
def mathml_of(latex: str) -> str:
    """Clean MathML of a formula of a post."""
    return reading(latex).parsed.mathml


@lru_cache(TEXTS)
def part_codes(latex: str) -> frozenset[int]:
    """The codes of the parts of a formula, as posts are indexed by them."""
    tree = flat_operators(reading(latex).ready.terms("normalised"))
    return frozenset(code(term) for term in part_terms([[]], [tree])[0] if term[0] in (COMMUTATIVE, RENAMED))
