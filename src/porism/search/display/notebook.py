"""Results as HTML for notebooks: matching words are marked, formulas are MathML with matching parts highlighted."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING

from porism.formula.mathml.presentation import highlight
from porism.search.display.segments_html import segments_html

if TYPE_CHECKING:
    from porism.search.display.results import Extract, FormulaResults, Results


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
