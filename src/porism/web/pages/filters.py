"""Filters of the page templates: they turn segments, formulas, queries and times into safe HTML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote_plus

from markupsafe import Markup, escape

from porism.caching import cached_text
from porism.formula.mathml.presentation import highlight
from porism.search.display.page_math import page_math
from porism.search.display.post_formulas import mathml_of, readable_latex
from porism.search.display.results import DistinctFormula, FormulaUse, HighlightedSegment, segments_html
from porism.text.typed.box import split_query

LINK_BYTES = 4_000_000  # of beginnings of links to formulas


def formula_link(latex: str, mathml: str) -> str:
    """Return a formula as a link to similar formulas."""
    return f"{_link_start(latex)}{page_math(mathml)}</a>"


@cached_text(LINK_BYTES)
def _link_start(latex: str) -> str:
    source = readable_latex(latex)
    # Percent-encoding leaves nothing in the address that HTML would have to escape.
    address = f"/search?q={quote_plus(f'${source}$', errors='replace')}&amp;tab=formulas"
    return f'<a class="math-link" href="{address}" title="Similar formulas" data-latex="{escape(source)}">'


def segments(pieces: Iterable[HighlightedSegment], links: bool = True) -> Markup:
    """Return the text and formulas of a hit with matches highlighted; formulas link to similar formulas."""
    return Markup(segments_html(pieces, formula_link if links else lambda latex, mathml: page_math(mathml)))


def link_label(pieces: Iterable[HighlightedSegment]) -> Markup:
    """Return an `aria-label` for a link that contains only formulas, so that screen readers can name it."""
    seen = list(pieces)
    if any(piece.kind == "text" and piece.text.strip() for piece in seen):
        return Markup("")
    return Markup(' aria-label="{}"').format(" ".join(piece.text for piece in seen) or "untitled")


def highlighted_formula(hit: DistinctFormula) -> Markup:
    """Return a found formula with its matching part highlighted."""
    return Markup(page_math(highlight(hit.mathml, hit.highlighted_nodes) if hit.highlighted_nodes else hit.mathml))


def query(text: str) -> Markup:
    """Return a query or a reason with its formulas as MathML."""
    return Markup("").join(
        formula(part.latex or part.source) if part.kind == "formula" else escape(part.source)
        for part in split_query(text, typed=False)
    )


def formula(latex: str) -> Markup:
    """Return a formula as MathML."""
    return Markup(page_math(mathml_of(latex)))


def binding(text: str) -> Markup:
    """Return a variable as MathML; the value of a wildcard is readable text already."""
    return formula(text) if text.isalnum() else escape(text)


@dataclass(frozen=True, slots=True)
class ThreadUse:
    """A thread in which a formula occurs: its first listed post with the formula, and the number of such posts."""

    first: FormulaUse
    posts: int


def threads(uses: Iterable[FormulaUse]) -> list[ThreadUse]:
    """Group the uses of a formula by thread."""
    found: dict[int, list[FormulaUse]] = {}
    for use in uses:
        found.setdefault(use.thread_id, []).append(use)
    return [ThreadUse(posts[0], len(posts)) for posts in found.values()]


def duration(seconds: float) -> str:
    """Return a time as `under 1 ms`, `12 ms` or `2.2 s`."""
    if seconds < 0.001:
        return "under 1 ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def signed(number: int) -> str:
    """Return a number of votes; a negative one has a minus sign, not a hyphen."""
    return str(number).replace("-", "−")


FILTERS = {
    filter_function.__name__: filter_function
    for filter_function in (
        segments,
        link_label,
        highlighted_formula,
        query,
        formula,
        binding,
        threads,
        duration,
        signed,
    )
}
