"""What every page is made of: the state of the search in its addresses, the formula palette, its template, and the
filters of templates, which turn segments, formulas, queries and times into safe HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote_plus, urlencode

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from porism.caching import cached_text
from porism.formula.mathml.presentation import highlight
from porism.search.display.page_math import page_math
from porism.search.display.post_formulas import mathml_of, readable_latex
from porism.search.display.results import DistinctFormula, FormulaUse, HighlightedSegment, segments_html
from porism.text.typed.box import split_query
from porism.web.api import views
from porism.web.http.requests import Parameter

TABS = {"answers": "Answers", "questions": "Questions", "formulas": "Formulas", "ask": "Ask"}
POST_TABS = ("answers", "questions")  # whose hits are posts
TAB = Parameter("tab", "what to search", default="answers", choices=tuple(TABS))
OFFSET = Parameter("offset", "number of hits to skip", int, 0, low=0, high=990)
FILTERS = tuple(parameter for parameter in views.FILTERS if parameter.name != "kind")
TEXT = Parameter("q", "text and formulas", default="")
WHOLE = Parameter("whole", "wait for the whole generated answer", bool, False)
SEARCH = (TEXT, TAB, OFFSET, views.MODE, views.SORT, views.EXPAND, *FILTERS, *views.READING, WHOLE)


class PaletteKey(NamedTuple):
    """A key of the formula palette: its label, the LaTeX it inserts ({} is where typing continues), and its name."""

    label: str
    latex: str
    name: str


PALETTE = (
    PaletteKey("x²", "{}^2", "square"),
    PaletteKey("√", "\\sqrt{}", "square root"),
    PaletteKey("a⁄b", "\\frac{}{}", "fraction"),
    PaletteKey("∑", "\\sum_{k=1}^{n} ", "sum"),
    PaletteKey("∫", "\\int_{0}^{1} ", "integral"),
    PaletteKey("lim", "\\lim_{x \\to 0} ", "limit"),
    PaletteKey("(n k)", "\\binom{n}{k}", "binomial"),
    PaletteKey("≤", "\\le ", "less or equal"),
    PaletteKey("≡", "\\equiv ", "congruent"),
    PaletteKey("∞", "\\infty", "infinity"),
    PaletteKey("π", "\\pi", "pi"),
    PaletteKey("ℝ", "\\mathbb{R}", "real numbers"),
    PaletteKey("?x", "?x", "wildcard"),
)


@lru_cache(2_000)
def _quoted(text: str, safe: str, encoding: str | None, errors: str | None) -> str:
    return quote_plus(text, safe, encoding, errors)


def encoded(values: Mapping[str, Any]) -> str:
    """Return parameters as the query of an address. A page has fifty with the same query, which is quoted once."""
    return urlencode(values, errors="replace", quote_via=_quoted)


@dataclass(frozen=True, slots=True)
class SearchState:
    """The parameters of the current search, with links that keep them."""

    values: dict[str, Any]
    path: str = "/search"
    default_sort: str = views.SORT.default
    counts_clicks: bool = False

    def link(self, **changes: Any) -> str:
        """Return the address of this search with some values changed. Defaults are left out to keep it short."""
        defaults = {parameter.name: parameter.default for parameter in SEARCH} | {"sort": self.default_sort}
        kept = {
            name: value
            for name, value in {**self.values, **changes}.items()
            if value not in (None, "", defaults.get(name))
        }
        query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in kept.items()}
        return f"{self.path}?{encoded(query)}"

    def thread_link(self, thread_id: int, post_id: int) -> str:
        """Return the address of a post on the page of its thread, which highlights the query and leads back."""
        query = {name: value for name in ("q", "tab") if (value := self.values.get(name)) and value != TAB.default}
        return f"/threads/{thread_id}{'?' + encoded(query) if query else ''}#post-{post_id}"

    def hit_link(self, thread_id: int, post_id: int, position: int) -> str:
        """Return the address of a hit on the page of its thread; where clicks are counted, one that counts it first."""
        if not self.counts_clicks:
            return self.thread_link(thread_id, post_id)
        hit = {"thread": thread_id, "post": post_id, "position": position}
        return f"/go?{encoded({'q': self.values['q'], 'tab': self.values['tab'], **hit})}"

    def why_link(self, post_id: int) -> str:
        """Return the address of the explanation of a hit."""
        return f"/why?{encoded({'q': self.values['q'], 'id': post_id})}"


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """Render a template with the values that every page shows."""
    from porism import __version__

    state = request.app.state
    common = {
        "site_links": state.site_links,
        "look": state.look,
        "reader": getattr(request.state, "reader", None),
        "here": request.url.path,
        "version": __version__,
        "collection_name": state.engine.name,
        "has_endpoint": state.engine.endpoint is not None,
        "collection": state.engine.content,
        "palette": PALETTE,
        "has_editor": state.has_editor,
        "counts_searches": getattr(state, "recorder", None) is not None,
    }
    body = state.templates.get_template(template).render(**common, **values)
    # Lone surrogates, which a collection may contain, become question marks.
    return Response(body.encode("utf-8", "replace"), status_code=status, media_type="text/html; charset=utf-8")


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


def threads(uses: Iterable[FormulaUse]) -> list[list[FormulaUse]]:
    """Group the uses of a formula by thread."""
    found: dict[int, list[FormulaUse]] = {}
    for use in uses:
        found.setdefault(use.thread_id, []).append(use)
    return list(found.values())


def duration(seconds: float) -> str:
    """Return a time as `under 1 ms`, `12 ms` or `2.2 s`."""
    if seconds < 0.001:
        return "under 1 ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def signed(number: int) -> str:
    """Return a number of votes; a negative one has a minus sign, not a hyphen."""
    return str(number).replace("-", "−")


TEMPLATE_FILTERS = {
    one.__name__: one
    for one in (segments, link_label, highlighted_formula, query, formula, binding, threads, duration, signed)
}
