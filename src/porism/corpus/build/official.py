"""Trees from the MathML that a source gives with its formulas, instead of from LaTeX (`porism build --trees official`)."""

from __future__ import annotations

from porism.formula import Parsed, parse_mathml
from porism.formula.mathml.clean import is_well_formed

# Why given MathML is not used; the trees then come from LaTeX.
ILL_FORMED = "ill-formed, trees from LaTeX"
ERROR = "with an error of its converter (merror), trees from LaTeX"
EMPTY = "shows nothing, trees from LaTeX"
LARGE = "too large or too deep, trees from LaTeX"
REFUSED = frozenset((ILL_FORMED, ERROR, EMPTY, LARGE))


def read_official(latex: str, mathml: str, content: str | None) -> Parsed | str:
    """Both trees from Presentation and Content MathML, or why not.

    Content MathML that is absent or ill-formed is made good by our own reading of the layout.
    """
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
    """Formulas are drawn from their LaTeX; places in other MathML would light other symbols there."""
    for tree in (parsed.layout, parsed.operators):
        for node in tree.walk():
            node.places = ()
