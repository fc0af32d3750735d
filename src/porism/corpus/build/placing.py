"""Giving official formulas their place in a text that has no span with their id yet.

The lab's rule: longest formulas first; each takes the earliest of its possible spellings, once.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from porism.text.html import fill, span, token

WITH_ID = re.compile(r'<span class="math-container" id="[0-9]+">.*?</span>', re.DOTALL)
LINE_ENDS = re.compile(r"\r\n|[\r\n]")
SPAN = '<span class="math-container">'
SPELLINGS = (
    f"{SPAN}$$ {{}} $$</span>",
    f"{SPAN}$${{}}$$</span>",
    f"{SPAN}${{}}$</span>",
    f"{SPAN}{{}}</span>",
    "$${}$$",
    "${}$",
)
# Between two blanks: the lab's last resort, which made a formula of the word "a". Only to reproduce the lab.
LOOSE = (" {} ",)


def insert_spans(text: str, missing: Sequence[tuple[int, str]], loose: bool) -> str:
    """The text with a span for each formula (id, LaTeX) that can be found in it."""
    spans: list[str] = []

    def freeze(piece: str) -> str:
        spans.append(piece)
        return token(len(spans) - 1)

    text = WITH_ID.sub(lambda match: freeze(match[0]), LINE_ENDS.sub(" ", text))
    for number, latex in sorted(missing, key=lambda formula: -len(formula[1])):
        found = min(_occurrences(text, latex, loose), default=None)
        if found is not None:
            start, _, spelling = found
            text = text[:start] + freeze(span(number, latex)) + text[start + len(spelling) :]
    return fill(text, lambda at: spans[at])


def _occurrences(text: str, latex: str, loose: bool) -> Iterator[tuple[int, int, str]]:
    """Where each spelling stands first: position, rank of the spelling, and the spelling."""
    written = dict.fromkeys((latex, html.escape(latex, quote=False), html.escape(latex)))
    for rank, form in enumerate(SPELLINGS + (LOOSE if loose else ())):
        for inner in written:
            spelling = form.format(inner)
            if (start := text.find(spelling)) >= 0:
                yield start, rank, spelling
