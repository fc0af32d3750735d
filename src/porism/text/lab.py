"""The lab's own extraction of formulas, defects included: five patterns in turn over the whole field.

Anything between two dollar signs is a formula. Used to reproduce the lab's collection (`porism build --compat`).
"""

from __future__ import annotations

import re

from porism.text.delimiters import MATH_CLASS, SPAN_CLOSE
from porism.text.entities import decode_entities
from porism.text.find import Extracted, one_line
from porism.text.sanitize import OPEN, placeholder

SPAN = f'<span class="{MATH_CLASS}">'
# The patterns, and the sign that closes what each finds.
PATTERNS = {
    re.compile(rf"{SPAN}\$\$(.+?)\$\${SPAN_CLOSE}"): f"$${SPAN_CLOSE}",
    re.compile(rf"{SPAN}\$(.+?)\${SPAN_CLOSE}"): f"${SPAN_CLOSE}",
    re.compile(rf"{SPAN}(.+?){SPAN_CLOSE}"): SPAN_CLOSE,
    re.compile(r"\$\$(.+?)\$\$"): "$$",
    re.compile(r"\$(.+?)\$"): "$",
}


def lab_formulas(text: str) -> Extracted:
    """Cut out the formulas that the lab's code finds, in its order."""
    text = one_line(text)
    if text.count("$") < 2:
        return Extracted(text, ())
    latex: list[str] = []

    def take(match: re.Match[str]) -> str:
        if OPEN in match[1]:
            return match[0]
        latex.append(decode_entities(match[1]))
        return placeholder(len(latex) - 1)

    for pattern, closer in PATTERNS.items():
        # Up to the last closing sign every opening one is closed; after it, each would be searched to the end.
        last = text.rfind(closer) + len(closer)
        text = pattern.sub(take, text[:last]) + text[last:] if closer in text else text
    return Extracted(text, tuple(latex))
