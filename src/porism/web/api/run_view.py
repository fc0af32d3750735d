"""Run a view for a request: from the cache, at once, or in a slot for queries within the time limit."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from starlette.requests import Request

from porism.deadline import TimeLimitExceeded
from porism.errors import StoreUnavailable
from porism.web.api import views
from porism.web.api.errors import BadRequest
from porism.web.api.slots import Busy

# Views whose results are cached: they take time and are often repeated (a second page, the back button, popular queries).
CACHED_VIEWS = frozenset((views.search, views.formulas))
# Views that only read what is in memory. They need no slot, so that a busy server still reports that it works.
IMMEDIATE_VIEWS = frozenset((views.health,))
RETRY_SECONDS = 2  # after which a client may try again when the server is busy


async def run_view(request: Request, view: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Return a view's result, from the cache or computed in a slot.

    The computation ends soon after the time limit, because it checks the limit itself. Its slot is free when it has ended.
    """
    state = request.app.state
    cache = state.cache  # before the engine: a new commit of the index brings a new engine, then a new cache
    work = functools.partial(view, state.engine, **values)
    if view in IMMEDIATE_VIEWS:
        return work()
    key = cache.key(view, values) if view in CACHED_VIEWS else None
    if key is not None and (cached := cache.get(key)) is not None:
        return cached
    try:
        result = await state.slots.run(work, state.seconds)
    except Busy:
        raise busy() from None
    except StoreUnavailable:
        raise
    except TimeLimitExceeded as error:
        message = f"the query took longer than {state.seconds:g} seconds"
        raise BadRequest(message, fix=error.fix, status=503) from None
    if key is not None and result.complete:
        cache.put(key, result.value)
    return result.value


def busy() -> BadRequest:
    """Return the error of a server that has more queries than it can answer."""
    fix = f"try again in {RETRY_SECONDS} seconds"
    return BadRequest("the server is busy with other queries", fix=fix, status=429, retry_after=RETRY_SECONDS)
