"""Results as HTML, for notebooks and for the pages: text with matched words marked, formulas as MathML with matched parts lit."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from porism.formula import parse
from porism.formula.mathml.cover import lit

if TYPE_CHECKING:
    from porism.search.display.results import Extract, FormulaResults, Results, Segment

LIT = (
    "<style>.porism .lit, .porism mark { background: #ffe79a; color: #3b2c00; }"
    ".porism .frame { outline: 1px solid #e0b93c; }</style>"
)
# A formula keeps the sign that follows it on its line.
FOLLOWING = re.compile(r"[.,;:!?)\]]+")


def segments_html(pieces: Iterable[Segment], formula: Callable[[str, str], str] = lambda latex, mathml: mathml) -> str:
    """Pieces of a hit as safe HTML; `formula(latex, mathml)` may wrap each formula."""
    shown: list[str] = []
    after_formula = False
    for piece in pieces:
        text = "" if piece.kind == "formula" else piece.text
        sign = FOLLOWING.match(text) if after_formula and not piece.lit else None
        if sign:
            shown[-1] = f'<span class="kept">{shown[-1]}{sign[0]}</span>'
            text = text[sign.end() :]
        shown.append(_formula(piece, formula) if piece.kind == "formula" else _text(text, piece.lit))
        after_formula = piece.kind == "formula"
    return "".join(shown)


def _text(text: str, is_lit: bool) -> str:
    return f"<mark>{html.escape(text)}</mark>" if is_lit else html.escape(text)


def _formula(piece: Segment, formula: Callable[[str, str], str]) -> str:
    mathml = piece.mathml or parse(piece.text).mathml
    return formula(piece.text, lit(mathml, piece.lit_nodes) if piece.lit_nodes else mathml)


def _listed(items: Iterable[str], remark: str) -> str:
    rows = "".join(f"<li>{item}</li>" for item in items)
    return f'{LIT}<div class="porism"><p><small>{html.escape(remark)}</small></p><ol>{rows}</ol></div>'


def results_html(results: Results) -> str:
    """A page of posts for a notebook."""
    shown = (
        f"<b>{segments_html(hit.title)}</b> <small>{hit.kind} {hit.id}</small><br>{segments_html(hit.snippet)}"
        for hit in results.hits
    )
    return _listed(shown, f"{results.total} found in {results.seconds * 1000:.0f} ms")


def formulas_html(results: FormulaResults) -> str:
    """A page of formulas for a notebook."""
    shown = (
        lit(hit.mathml, hit.lit_nodes)
        + "".join(f" <small>{html.escape(a)} to {html.escape(b)}</small>" for a, b in hit.bindings)
        for hit in results.hits
    )
    return _listed(shown, f"{results.total} distinct formulas in {results.seconds * 1000:.0f} ms")


def extract_html(extract: Extract) -> str:
    """A passage with its sources for a notebook."""
    sources = (f"{segments_html(source.title)} <small>post {source.post_id}</small>" for source in extract.sources)
    return f'<blockquote class="porism">{segments_html(extract.segments)}</blockquote>' + _listed(sources, "from")
