"""Generated answers of the server: a few at a time, outside the slots of queries, since a language model takes longer
than a search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from porism.errors import PorismError
from porism.search.display.results import Extract
from porism.search.generation.endpoint import Endpoint
from porism.search.generation.generate import AnswerBasis, Writing, generate_answer, stream_answer, without_answer
from porism.web.api import views
from porism.web.api.slots import run_view

GENERATED_AT_ONCE = 8  # answers that one process has a language model write at the same time


class Generations:
    """Writes answers with a language model, a limited number at the same time; one more gets the best passage."""

    def __init__(self, most: int = GENERATED_AT_ONCE) -> None:
        self._free = BoundedSemaphore(most)

    def whole(self, endpoint: Endpoint, basis: AnswerBasis) -> Extract:
        """Return a whole answer."""
        with self._slot() as free:
            return generate_answer(endpoint, basis) if free else without_answer(basis, busy())

    def stream(self, endpoint: Endpoint, basis: AnswerBasis) -> Iterator[Writing | Extract]:
        """Yield an answer while it is written, and the whole at last."""
        with self._slot() as free:
            if free:
                yield from stream_answer(endpoint, basis)
            else:
                yield without_answer(basis, busy())

    @contextmanager
    def _slot(self) -> Iterator[bool]:
        free = self._free.acquire(blocking=False)
        try:
            yield free
        finally:
            if free:
                self._free.release()


def busy() -> PorismError:
    """Return the error of a server whose language model has enough to do."""
    return PorismError("it is writing other answers")


async def answer_basis(request: Request, q: str) -> AnswerBasis:
    """Search what an answer is written from."""
    basis: AnswerBasis = await run_view(request, views.answer_basis, {"q": q})
    return basis


async def whole_answer(request: Request, q: str) -> Extract:
    """Return the generated answer to a question; the best passage without an endpoint or without passages."""
    basis = await answer_basis(request, q)
    endpoint: Endpoint | None = request.app.state.engine.endpoint
    if endpoint is None or not basis.sources:
        return basis.extract
    return await run_in_threadpool(request.app.state.generations.whole, endpoint, basis)
