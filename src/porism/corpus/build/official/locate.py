"""Listed formulas are located in texts by the lab's rule, and get an official span there."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from porism.corpus.build.official import NumberedFormula
from porism.text.markup import MARKED_ID, MATH_CLASS, SPAN_CLOSE, math_span, math_spans, placeholder
from porism.text.read import fill

LINE_ENDS = re.compile(r"\r\n|[\r\n]")
SPAN = f'<span class="{MATH_CLASS}">'
SPELLINGS = (
    f"{SPAN}$$ {{}} $${SPAN_CLOSE}",
    f"{SPAN}$${{}}$${SPAN_CLOSE}",
    f"{SPAN}${{}}${SPAN_CLOSE}",
    f"{SPAN}{{}}{SPAN_CLOSE}",
    "$${}$$",
    "${}$",
)
# Between two blanks: the lab's last resort, which made a formula of the word "a". Only to reproduce the lab.
LOOSE = (" {} ",)


def marked_ids(text: str) -> list[int]:
    """Return the ids of the official spans of a text."""
    return [int(identifier) for identifier in MARKED_ID.findall(text)]


class Spelling(NamedTuple):
    """A spelling of a formula in a text; the earliest is taken, of equal ones that with the lowest rank."""

    start: int
    rank: int
    spelling: str


def insert_spans(text: str, missing: Sequence[NumberedFormula], loose: bool) -> str:
    """Return the text with an official span for each formula that can be found in it."""
    spans: list[str] = []

    def freeze(piece: str) -> str:
        spans.append(piece)
        return placeholder(len(spans) - 1)

    text = _freeze_marked(LINE_ENDS.sub(" ", text), freeze)
    for formula in sorted(missing, key=lambda one: -len(one.latex)):
        found = min(_occurrences(text, formula.latex, loose), default=None)
        if found is not None:
            rest = text[found.start + len(found.spelling) :]
            text = text[: found.start] + freeze(math_span(formula.latex, formula.id)) + rest
    return fill(text, lambda at: spans[at])


def _freeze_marked(text: str, freeze: Callable[[str], str]) -> str:
    pieces: list[str] = []
    at = 0
    for span in math_spans(text):
        if span.id:
            pieces += (text[at : span.start], freeze(text[span.start : span.end]))
            at = span.end
    return "".join([*pieces, text[at:]])


def _occurrences(text: str, latex: str, loose: bool) -> Iterator[Spelling]:
    """Yield the first occurrence of each spelling."""
    written = dict.fromkeys((latex, html.escape(latex, quote=False), html.escape(latex)))
    for rank, form in enumerate(SPELLINGS + (LOOSE if loose else ())):
        for inner in written:
            spelling = form.format(inner)
            if (start := text.find(spelling)) >= 0:
                yield Spelling(start, rank, spelling)
