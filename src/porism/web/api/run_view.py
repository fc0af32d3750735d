"""Run a view for a request: from the cache, or in a worker thread within the time limit."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import anyio
from starlette.requests import Request

from porism.web.api import views
from porism.web.api.errors import BadRequest

# Views whose results are cached: they take time and are often repeated (a second page, the back button, popular queries).
CACHED_VIEWS = frozenset((views.search, views.formulas))


async def run_view(request: Request, view: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Return a view's result, from the cache or computed in a thread.

    A running thread cannot be stopped. The time limit releases the caller, and the number of threads is bounded, so
    slow queries cannot pile up.
    """
    state = request.app.state
    key = state.cache.key(view, values) if view in CACHED_VIEWS else None
    if key is not None and (cached := state.cache.get(key)) is not None:
        return cached
    try:
        with anyio.fail_after(state.seconds):
            work = functools.partial(view, state.engine, **values)
            result = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=state.limiter)
            if key is not None:
                state.cache.put(key, result)
            return result
    except TimeoutError:
        fix = "send a shorter query with fewer formulas"
        raise BadRequest(f"the query took longer than {state.seconds:g} seconds", fix=fix, status=503) from None
