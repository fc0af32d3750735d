"""Results as HTML, for notebooks and for the pages: text with matched words marked, formulas as MathML with matched parts lit."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from porism.formula import parse
from porism.formula.mathml import light

if TYPE_CHECKING:
    from porism.search.results import Extract, FormulaResults, Results, Segment

LIT = "<style>.porism .lit, .porism mark { background: #ffe79a; color: #3b2c00; }</style>"


def segments_html(pieces: Iterable[Segment], formula: Callable[[str, str], str] = lambda latex, mathml: mathml) -> str:
    """Pieces of a hit as safe HTML; `formula(latex, mathml)` may wrap each formula."""
    return "".join(_segment(piece, formula) for piece in pieces)


def _segment(piece: Segment, formula: Callable[[str, str], str]) -> str:
    if piece.kind == "text":
        text = html.escape(piece.text)
        return f"<mark>{text}</mark>" if piece.lit else text
    mathml = piece.mathml or parse(piece.text).mathml
    return formula(piece.text, light(mathml, piece.lit_nodes) if piece.lit_nodes else mathml)


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
        light(hit.mathml, hit.lit_nodes)
        + "".join(f" <small>{html.escape(a)} to {html.escape(b)}</small>" for a, b in hit.bindings)
        for hit in results.hits
    )
    return _listed(shown, f"{results.total} distinct formulas in {results.seconds * 1000:.0f} ms")


def extract_html(extract: Extract) -> str:
    """A passage with its sources for a notebook."""
    sources = (f"{segments_html(source.title)} <small>post {source.post_id}</small>" for source in extract.sources)
    return f'<blockquote class="porism">{segments_html(extract.segments)}</blockquote>' + _listed(sources, "from")
