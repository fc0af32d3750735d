"""The formulas in a topic's text. LaTeX is cut out before any HTML parser sees the text, which would take `a<b` for a tag."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from porism.text.delimiters import MATH_SPAN, SPAN_EDGE, MathSpan, math_span, math_spans, span_id, undress
from porism.text.entities import decode_latex

EMPTY = ("$$", "$$$$")


@dataclass(frozen=True, slots=True)
class Piece:
    """A formula, or a stretch of HTML between formulas (`latex` is None, `source` its text)."""

    source: str
    latex: str | None = None
    id: str = ""
    # True where the author's dollar sign follows a blank, as in `$a $`: the mark of an id that fell on a plain word.
    blank_end: bool = False
    # True where the text has no id and the id is that of a row of the table.
    named_by_table: bool = False


def split_formulas(text: str) -> Iterator[Piece]:
    """Split the HTML of a field at its formula spans; nested spans are one formula."""
    at = 0
    for span in math_spans(text, unclosed=True):
        if span.start > at:
            yield Piece(text[at : span.start])
        yield _formula(text, span)
        at = span.end
    if at < len(text):
        yield Piece(text[at:])


def _formula(text: str, span: MathSpan) -> Piece:
    """Return one formula; of nested spans the id may be on the inner one."""
    content = text[span.inner_start : span.inner_end]
    inner = (span_id(match[0]) for match in MATH_SPAN.finditer(content))
    bare = SPAN_EDGE.sub("", content)
    blank_end = re.search(r"\s\$+\s*$", bare) is not None
    return Piece(content, without_dollars(decode_latex(bare)), span.id or next(inner, ""), blank_end)


def without_dollars(latex: str) -> str:
    """Return the LaTeX between `$..$` or `$$..$$`; LaTeX without dollar signs stays as it is."""
    inner = latex.strip()
    return "" if inner in EMPTY else undress(inner).latex


def fix_ids(pieces: list[Piece]) -> list[Piece]:
    """Undo ids on wrong words: `maps $a $positive integer` with an id-less `$a$` later becomes a word, and the later one gets the id."""
    fixed = list(pieces)
    for place, piece in enumerate(pieces):
        if piece.latex is None or not piece.id or not piece.blank_end:
            continue
        for later in range(place + 1, len(pieces)):
            twin = fixed[later]
            if twin.latex == piece.latex and not twin.id:
                fixed[place] = Piece(f"{html.escape(piece.latex, quote=False)} ")
                fixed[later] = replace(twin, id=piece.id)
                break
    return fixed


def to_html(pieces: list[Piece]) -> str:
    """Return the field in the official form: each formula is a span of escaped LaTeX without dollar signs."""
    return "".join(piece.source if piece.latex is None else math_span(piece.latex, piece.id) for piece in pieces)
