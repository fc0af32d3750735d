"""The search pages. They show the records of `web/api/views.py` and work without scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote_plus, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from porism.search.analytics.store import Search, ShownHit
from porism.search.display.results import Extract
from porism.search.formulas.searcher import DEPTH
from porism.search.generation.endpoint import Endpoint
from porism.search.generation.generate import AnswerBasis, Writing
from porism.web.api import views
from porism.web.api.parameters import Parameter, parse_parameters
from porism.web.api.slots import run_view
from porism.web.pages.generation import answer_basis, whole_answer
from porism.web.site.settings import Pages

TABS = {"answers": "Answers", "questions": "Questions", "formulas": "Formulas", "ask": "Ask"}
POST_TABS = ("answers", "questions")  # whose hits are posts
TAB = Parameter("tab", "what to search", default="answers", choices=tuple(TABS))
OFFSET = Parameter("offset", "number of hits to skip", int, 0, low=0, high=990)
FILTERS = tuple(parameter for parameter in views.FILTERS if parameter.name != "kind")
TEXT = Parameter("q", "text and formulas", default="")
WHOLE = Parameter("whole", "wait for the whole generated answer", bool, False)
SEARCH = (TEXT, TAB, OFFSET, views.MODE, views.SORT, views.EXPAND, *FILTERS, *views.READING, WHOLE)
POST_ID = Parameter("id", "the id of a post", int, required=True, high=2**53)
PER_PAGE = 10


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
# How a formula matches the query, in words, by canonical level.
LEVELS = {
    "written": "as written",
    "normalised": "in another notation",
    "commutative": "with operands in another order",
    "renamed": "with variables renamed",
}
# The modes of formula search in the filter.
MODES = {
    "similar": "similar formulas",
    "exact": "the same formula",
    "subformula": "formulas that contain it",
    "diverse": "diverse results",
}
# The orders of hits.
SORTS = {"relevance": "relevance", "votes": "votes", "date": "newest"}
EXAMPLES = (
    "proof that $\\sqrt{2}$ is irrational",
    "$a^2+b^2=c^2$",
    "$\\binom{n}{k}$ identity",
    "$\\sum_{k=1}^n ?x$",
    "Pythagorean theorem",
)


@lru_cache(2_000)
def _quoted(text: str, safe: str, encoding: str | None, errors: str | None) -> str:
    return quote_plus(text, safe, encoding, errors)


def encoded(values: Mapping[str, Any]) -> str:
    """Return parameters as the query of an address. A page has fifty addresses with the same query, which is quoted
    once."""
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
        """Return the address of a post on the page of its thread, which highlights the query and leads back to the
        results."""
        query = {name: value for name in ("q", "tab") if (value := self.values.get(name)) and value != TAB.default}
        return f"/threads/{thread_id}{'?' + encoded(query) if query else ''}#post-{post_id}"

    def hit_link(self, thread_id: int, post_id: int, position: int) -> str:
        """Return the address of a hit on the page of its thread; where clicks are counted, one that counts and leads
        there."""
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


async def home(request: Request) -> Response:
    """Show the start page with the search box."""
    health = await run_view(request, views.health, {})
    return render(
        request,
        "home.html",
        state=SearchState({}),
        values={"q": "", "tab": request.app.state.site.pages.tabs[0]},
        examples=EXAMPLES,
        health=health,
    )


def search_values(request: Request, *more: Parameter) -> dict[str, Any]:
    """Return the parameters of a search. A tab that the site does not show becomes its first one; without an order, the
    site's is used."""
    values = parse_parameters((*SEARCH, *more), request.query_params)
    pages: Pages = request.app.state.site.pages
    if not request.query_params.get("sort"):
        values["sort"] = pages.default_sort
    if values["tab"] not in pages.tabs:
        values["tab"] = pages.tabs[0]
    return values


async def search(request: Request) -> Response:
    """Show the results of one tab."""
    values = search_values(request)
    pages = request.app.state.site.pages
    if not values["q"].strip():
        return RedirectResponse("/", status_code=303)
    found = await TAB_VIEWS[values["tab"]](request, values)
    recorder = getattr(request.app.state, "recorder", None)
    if recorder is not None:
        recorder.record(_search_event(values, found), request.headers)
    return render(
        request,
        "search.html",
        state=SearchState(values, default_sort=pages.default_sort, counts_clicks=recorder is not None),
        values=values,
        tabs={name: TABS[name] for name in pages.tabs},
        sorts=SORTS,
        default_sort=pages.default_sort,
        levels=LEVELS,
        modes=MODES,
        found=found,
        stream=_stream_of(request, values, found),
        feed=SearchState(values, "/search.atom", pages.default_sort),
        export=SearchState(values, "/export", pages.default_sort),
        per_page=PER_PAGE,
        depth=DEPTH,
    )


def _search_event(values: Mapping[str, Any], found: Any) -> Search:
    """Return what analytics record of a page of results. Positions count only where hits are in the order of
    relevance."""
    offset, tab = values["offset"], values["tab"]
    hits: tuple[ShownHit, ...] = ()
    if tab in POST_TABS and values["sort"] == "relevance":
        hits = tuple(ShownHit(hit.id, offset + at) for at, hit in enumerate(found.hits, 1))
    results = int(bool(found.text)) if tab == "ask" else found.total
    return Search(values["q"], tab, results, hits, offset == 0)


def _stream_of(request: Request, values: Mapping[str, Any], found: Any) -> str:
    """Return the address of the generated answer, if there is one and the page does not have it."""
    writes = values["tab"] == "ask" and not values["whole"] and request.app.state.engine.endpoint is not None
    return f"/ask/stream?{encoded({'q': values['q']})}" if writes and found.segments else ""


async def find_posts(request: Request, values: dict[str, Any]) -> Any:
    """Return the results of the tabs of answers and questions."""
    filters = {parameter.name: values[parameter.name] for parameter in (*FILTERS, *views.READING)}
    return await run_view(
        request,
        views.search,
        {
            "q": values["q"],
            "k": PER_PAGE,
            "offset": values["offset"],
            "kind": values["tab"],
            "sort": values["sort"],
            "group": values["tab"] == "answers",
            "expand": values["expand"],
            **filters,
        },
    )


async def find_formulas(request: Request, values: dict[str, Any]) -> Any:
    """Return the results of the formula tab."""
    return await run_view(
        request, views.formulas, {"q": values["q"], "k": PER_PAGE, "offset": values["offset"], "mode": values["mode"]}
    )


async def find_extract(request: Request, values: dict[str, Any]) -> Any:
    """Return the extract of the Ask tab, or with `whole` the generated answer, which scripts load by themselves."""
    if values["whole"]:
        return await whole_answer(request, values["q"])
    return await run_view(request, views.ask, {"q": values["q"], "generate": False})


TAB_VIEWS = {"answers": find_posts, "questions": find_posts, "formulas": find_formulas, "ask": find_extract}


async def why(request: Request) -> Response:
    """Explain the score of one hit, as a page of its own; the results page inserts its list."""
    values = parse_parameters((views.Q, POST_ID), request.query_params)
    explanation = await run_view(request, views.explain, values)
    state = SearchState({"q": values["q"]})
    return render(request, "why.html", explanation=explanation, values=values, state=state)


def routes() -> list[Route]:
    """Return the routes of all pages."""
    return [
        Route("/", home),
        Route("/search", search),
        Route("/why", why),
        Route("/ask/stream", answer_stream),
    ]


MEDIA_TYPE = "text/event-stream"


async def answer_stream(request: Request) -> Response:
    """Stream an answer. Without an endpoint the only event is the best passage."""
    values = parse_parameters((views.Q,), request.query_params)
    basis = await answer_basis(request, values["q"])
    events = answer_events(request.app.state, request.app.state.engine.endpoint, basis, values["q"])
    return StreamingResponse(events, media_type=MEDIA_TYPE, headers={"x-accel-buffering": "no"})


def answer_events(state: Any, endpoint: Endpoint | None, basis: AnswerBasis, q: str) -> Iterator[str]:
    """Yield the events of an answer: `sentence`, `unfinished`, and at last `done`."""
    search = SearchState({"q": q, "tab": "ask"})

    def rendered(template: str, **values: Any) -> str:
        return str(state.templates.get_template(template).render(state=search, **values))

    writing: Iterator[Writing | Extract] = iter((basis.extract,))
    if endpoint is not None and basis.sources:
        writing = state.generations.stream(endpoint, basis)
    for one in writing:
        if isinstance(one, Extract):
            yield event("done", html=rendered("answer.html", found=one))
        elif one.sentence is not None:
            yield event("sentence", html=rendered("answer_sentences.html", sentences=(one.sentence,)))
        else:
            yield event("unfinished", text=one.unfinished)


def event(name: str, **data: str) -> str:
    """Return a server-sent event. JSON has no line ends, so its data is one line; lone surrogates stay escaped."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
