"""Formulas: LaTeX or MathML becomes trees. Nothing here does I/O, and user text never raises."""

from __future__ import annotations

from porism.formula.latex.editable import Problem
from porism.formula.layout.tuples import from_tangent, tangent
from porism.formula.parsed import Parsed, latex_to_mathml, parse, parse_mathml
from porism.formula.tree import Node, elements_of, row_of

__all__ = [
    "Node", "Parsed", "Problem", "elements_of", "from_tangent", "latex_to_mathml", "parse", "parse_mathml", "row_of",
    "tangent",
]  # fmt: skip
