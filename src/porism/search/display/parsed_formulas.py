"""Parsed formulas of posts, cached: trees and MathML that many queries need again.

The caches are bounded. Their values depend on the LaTeX alone, so they never become stale and serve all queries.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

from porism.formula import Parsed, latex_to_mathml, parse
from porism.formula.match.matcher import PreparedTree
from porism.index.analysis.flat import FlatLayout, flat_layout
from porism.search.display.readable import readable_latex

# A formula with its trees takes about 30 KB, its MathML 1 KB.
MAX_TREES, MAX_TEXTS = 2_000, 20_000


class ComparableFormula:
    """A parsed formula with the forms that comparisons need, each computed on first use."""

    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed

    @cached_property
    def layout(self) -> FlatLayout:
        """The layout tree in reading order."""
        return flat_layout(self.parsed.layout)

    @cached_property
    def operators(self) -> PreparedTree:
        """The operator tree, prepared for matching."""
        return PreparedTree(self.parsed.operators)


@lru_cache(MAX_TREES)
def parsed_formula(latex: str) -> ComparableFormula:
    """Parse a formula of a post, without what a converter left in it."""
    return ComparableFormula(parse(readable_latex(latex)))


@lru_cache(MAX_TEXTS)
def mathml_of(latex: str) -> str:
    """Return the clean MathML of a formula of a post."""
    return latex_to_mathml(readable_latex(latex))
