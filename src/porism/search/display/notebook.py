"""Results as HTML for notebooks: matching words are marked, formulas are MathML with matching parts highlighted."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from porism.formula import parse
from porism.formula.mathml.presentation import highlight
from porism.text.page import flow

if TYPE_CHECKING:
    from porism.search.display.results import Extract, FormulaResults, HighlightedSegment, Results


def segments_html(
    pieces: Iterable[HighlightedSegment], formula: Callable[[str, str], str] = lambda latex, mathml: mathml
) -> str:
    """Return segments as safe HTML: matching words are marked, matching parts of formulas are highlighted.

    `formula(latex, mathml)` may wrap each formula."""
    return flow(
        (_formula(piece, formula), True) if piece.kind == "formula" else (_text(piece.text, piece.highlighted), False)
        for piece in pieces
    )


def _text(text: str, highlighted: bool) -> str:
    return f"<mark>{html.escape(text)}</mark>" if highlighted else html.escape(text)


def _formula(piece: HighlightedSegment, formula: Callable[[str, str], str]) -> str:
    mathml = piece.mathml or parse(piece.text).mathml
    return formula(piece.text, highlight(mathml, piece.highlighted_nodes) if piece.highlighted_nodes else mathml)


STYLE = (
    "<style>.porism .highlight, .porism mark { background: #ffe79a; color: #3b2c00; }"
    ".porism .frame { outline: 1px solid #e0b93c; }</style>"
)


def _list(items: Iterable[str], caption: str) -> str:
    rows = "".join(f"<li>{item}</li>" for item in items)
    return f'{STYLE}<div class="porism"><p><small>{html.escape(caption)}</small></p><ol>{rows}</ol></div>'


def results_html(results: Results) -> str:
    """Return a page of posts for a notebook."""
    shown = (
        f"<b>{segments_html(hit.title)}</b> <small>{hit.kind} {hit.id}</small><br>{segments_html(hit.snippet)}"
        for hit in results.hits
    )
    return _list(shown, f"{results.total} found in {results.seconds * 1000:.0f} ms")


def formulas_html(results: FormulaResults) -> str:
    """Return a page of formulas for a notebook."""
    shown = (
        highlight(hit.mathml, hit.highlighted_nodes)
        + "".join(f" <small>{html.escape(one.name)} to {html.escape(one.value)}</small>" for one in hit.bindings)
        for hit in results.hits
    )
    return _list(shown, f"{results.total} distinct formulas in {results.seconds * 1000:.0f} ms")


def extract_html(extract: Extract) -> str:
    """Return a passage with its sources for a notebook."""
    sources = (f"{segments_html(source.title)} <small>post {source.post_id}</small>" for source in extract.sources)
    return f'<blockquote class="porism">{segments_html(extract.segments)}</blockquote>' + _list(sources, "from")
