"""Macros that a text defines are expanded in its formulas, so that each formula can be read alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from porism.formula.latex.editable import EditableLatex
from porism.formula.latex.macros import DEFINES, Budget, Macros, definitions, expand_macros
from porism.text.segment import Text

HINTS = ("\\newcommand", "\\renewcommand", "\\providecommand", "\\def", "\\DeclareMathOperator", "\\let")


def expand(latex: str, macros: Macros, budget: Budget) -> str:
    """Expand these macros in a formula; one that the budget of its text does not allow stays as it is typed, and is counted there."""
    if not macros or "\\" not in latex:
        return latex
    source = EditableLatex(latex)
    if budget.left > 0 and expand_macros(source, macros, budget):
        return source.text
    budget.refused += 1
    return latex


def defined_macros(texts: Iterable[Text]) -> Macros:
    """Return the macros that formulas of some texts define; on the site they hold for the whole page."""
    marked = [text for text in texts if any(hint in text.stored for hint in HINTS)]
    return definitions("\n".join(formula.text for text in marked for formula in text.formulas))


def self_contained(latex: Sequence[str], budget: Budget) -> tuple[str, ...]:
    """Expand in each formula of a field the macros that other formulas of it define; a formula that defines macros stays as it is."""
    defining = [formula for formula in latex if any(hint in formula for hint in HINTS) and DEFINES.search(formula)]
    if not defining:
        return tuple(latex)
    macros = definitions("\n".join(defining))
    kept = set(defining)
    return tuple(formula if formula in kept else expand(formula, macros, budget) for formula in latex)
