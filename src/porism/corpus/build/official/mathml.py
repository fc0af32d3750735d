"""Trees of formulas from the MathML that their source has, instead of from LaTeX."""

from __future__ import annotations

from porism.formula import Parsed, parse_mathml
from porism.formula.mathml.clean import is_well_formed

# Reasons not to use the MathML of a source; the trees then come from LaTeX.
ILL_FORMED = "ill-formed, trees from LaTeX"
ERROR = "with an error of its converter (merror), trees from LaTeX"
EMPTY = "shows nothing, trees from LaTeX"
LARGE = "too large or too deep, trees from LaTeX"
REFUSED = frozenset((ILL_FORMED, ERROR, EMPTY, LARGE))


def read_mathml(latex: str, mathml: str, content: str | None) -> Parsed | str:
    """Return both trees of Presentation and Content MathML, or the reason why they cannot be used.

    Where Content MathML is absent or ill-formed, the operator tree comes from the layout tree."""
    if "<merror" in mathml or "<cerror" in (content or ""):
        return ERROR
    if not is_well_formed(mathml):
        return ILL_FORMED
    parsed = parse_mathml(mathml, latex, content if content and is_well_formed(content) else "")
    if parsed.path == "opaque":
        return LARGE
    if parsed.layout.label == "W!" and not parsed.layout.children:
        return EMPTY
    without_places(parsed)
    return parsed


def without_places(parsed: Parsed) -> None:
    """Remove the positions of nodes. Pages draw formulas from their LaTeX, where positions of other MathML would
    highlight other symbols."""
    for tree in (parsed.layout, parsed.operators):
        for node in tree.walk():
            node.places = ()
