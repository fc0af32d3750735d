"""The search pages: the start page, results, reasons and generated answers.

They show the records of `web/api/views.py` and work without scripts. Answers are generated a few at a time, outside the
slots of queries, since a language model takes longer than a search.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from porism.errors import PorismError
from porism.search.analytics import Search, ShownHit
from porism.search.display.results import Extract
from porism.search.formulas.searcher import DEPTH
from porism.search.generation.answer_text import AnswerBasis, Writing, generate_answer, stream_answer, without_answer
from porism.search.generation.endpoint import Endpoint
from porism.web.api import views
from porism.web.api.results import run_view
from porism.web.http.requests import Parameter, parse_parameters
from porism.web.pages.page import FILTERS, POST_TABS, SEARCH, TABS, SearchState, encoded, render
from porism.web.site.settings import Pages

PER_PAGE = 10
POST_ID = Parameter("id", "the id of a post", int, required=True, high=2**53)
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
GENERATED_AT_ONCE = 8  # answers that one process has a language model write at the same time

BUSY = PorismError("it is writing other answers")


class Generations:
    """Writes answers with a language model, a limited number at the same time; one more gets the best passage."""

    def __init__(self, most: int = GENERATED_AT_ONCE) -> None:
        self._free = BoundedSemaphore(most)

    def whole(self, endpoint: Endpoint, basis: AnswerBasis) -> Extract:
        """Return a whole answer."""
        with self._slot() as free:
            return generate_answer(endpoint, basis) if free else without_answer(basis, BUSY)

    def stream(self, endpoint: Endpoint, basis: AnswerBasis) -> Iterator[Writing | Extract]:
        """Yield an answer while it is written, and the whole at last."""
        with self._slot() as free:
            if free:
                yield from stream_answer(endpoint, basis)
            else:
                yield without_answer(basis, BUSY)

    @contextmanager
    def _slot(self) -> Iterator[bool]:
        free = self._free.acquire(blocking=False)
        try:
            yield free
        finally:
            if free:
                self._free.release()


async def answer_basis(request: Request, q: str) -> AnswerBasis:
    """Search what an answer is written from."""
    basis: AnswerBasis = await run_view(request, views.answer_basis, {"q": q})
    return basis


async def home(request: Request) -> Response:
    """Show the start page with the search box."""
    health = await run_view(request, views.health, {})
    values = {"q": "", "tab": request.app.state.site.pages.tabs[0]}
    return render(request, "home.html", state=SearchState({}), values=values, examples=EXAMPLES, health=health)


def search_values(request: Request, *more: Parameter) -> dict[str, Any]:
    """Return the parameters of a search; for a tab or an order that is missing, those of the site."""
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
    # The generated answer, if there is one and the page does not have it.
    writes = values["tab"] == "ask" and not values["whole"] and request.app.state.engine.endpoint is not None
    stream = f"/ask/stream?{encoded({'q': values['q']})}" if writes and found.segments else ""
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
        stream=stream,
        feed=SearchState(values, "/search.atom", pages.default_sort),
        export=SearchState(values, "/export", pages.default_sort),
        per_page=PER_PAGE,
        depth=DEPTH,
    )


def _search_event(values: Mapping[str, Any], found: Any) -> Search:
    """Return what analytics record of a page of results. Positions count only in the order of relevance."""
    offset, tab = values["offset"], values["tab"]
    hits: tuple[ShownHit, ...] = ()
    if tab in POST_TABS and values["sort"] == "relevance":
        hits = tuple(ShownHit(hit.id, offset + at) for at, hit in enumerate(found.hits, 1))
    results = int(bool(found.text)) if tab == "ask" else found.total
    return Search(values["q"], tab, results, hits, offset == 0)


async def find_posts(request: Request, values: dict[str, Any]) -> Any:
    """Return the results of the tabs of answers and questions."""
    same = ("q", "offset", "sort", "expand", *(parameter.name for parameter in (*FILTERS, *views.READING)))
    asked = {name: values[name] for name in same}
    asked |= {"k": PER_PAGE, "kind": values["tab"], "group": values["tab"] == "answers"}
    return await run_view(request, views.search, asked)


async def find_formulas(request: Request, values: dict[str, Any]) -> Any:
    """Return the results of the formula tab."""
    asked = {name: values[name] for name in ("q", "offset", "mode")}
    return await run_view(request, views.formulas, {**asked, "k": PER_PAGE})


async def find_extract(request: Request, values: dict[str, Any]) -> Any:
    """Return the extract of the Ask tab, or with `whole` the generated answer, which scripts load by themselves."""
    if not values["whole"]:
        return await run_view(request, views.ask, {"q": values["q"], "generate": False})
    basis = await answer_basis(request, values["q"])
    endpoint: Endpoint | None = request.app.state.engine.endpoint
    if endpoint is None or not basis.sources:
        return basis.extract
    return await run_in_threadpool(request.app.state.generations.whole, endpoint, basis)


TAB_VIEWS = {"answers": find_posts, "questions": find_posts, "formulas": find_formulas, "ask": find_extract}


async def why(request: Request) -> Response:
    """Explain the score of one hit, as a page of its own; the results page inserts its list."""
    values = parse_parameters((views.Q, POST_ID), request.query_params)
    explanation = await run_view(request, views.explain, values)
    state = SearchState({"q": values["q"]})
    return render(request, "why.html", explanation=explanation, values=values, state=state)


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


ROUTES = [Route("/", home), Route("/search", search), Route("/why", why), Route("/ask/stream", answer_stream)]
