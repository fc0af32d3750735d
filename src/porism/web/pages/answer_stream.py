"""The generated answer of the Ask tab as server-sent events: sentences as they are written, then the whole answer with its sources.

Everything is rendered and escaped here. `static/answer.js` puts it into the page; without scripts the page has the whole answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from porism.search.display.results import Extract
from porism.search.generation.endpoint import Endpoint
from porism.search.generation.generate import AnswerBasis, Writing
from porism.web.api import views
from porism.web.api.parameters import parse_parameters
from porism.web.pages.generation import answer_basis
from porism.web.pages.routes import SearchState

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


def routes() -> list[Route]:
    """Return the route of the stream."""
    return [Route("/ask/stream", answer_stream)]
