"""Results of views: from a cache of the latest ones, or computed in a slot within the time limit."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cachetools import LRUCache
from starlette.requests import Request

from porism.caching import CacheCounts
from porism.deadline import TimeLimitExceeded
from porism.errors import StoreUnavailable
from porism.web.api import views
from porism.web.http.errors import BadRequest
from porism.web.http.slots import Busy, busy

CACHE_SIZE = 256  # results; ten hits take about 60 KB

Key = tuple[str, tuple[tuple[str, Any], ...]]


class ResponseCache:
    """Results by view and parameters, least recently used out first. Only the event loop uses it: it needs no lock."""

    def __init__(self, size: int = CACHE_SIZE, counts: CacheCounts | None = None) -> None:
        self._size = size
        self.counts = counts or CacheCounts()
        self._results: LRUCache[Key, Any] = LRUCache(size)

    def cleared(self) -> ResponseCache:
        """Return an empty cache of the same size, for another commit of the index. Hits and misses are counted on."""
        return ResponseCache(self._size, self.counts)

    def __len__(self) -> int:
        """Return the number of cached results."""
        return len(self._results)

    @staticmethod
    def key(view: Callable[..., Any], values: Mapping[str, Any]) -> Key:
        """Return the key of a request: equal requests have equal keys."""
        return view.__name__, tuple(sorted(values.items()))

    def get(self, key: Key) -> Any:
        """Return the cached result, with the time that this lookup took, or None."""
        started = time.perf_counter()
        found = self._results.get(key)
        self.counts.count(found is not None)
        return None if found is None else replace(found, seconds=time.perf_counter() - started)

    def put(self, key: Key, result: Any) -> None:
        """Cache a result."""
        if self._size:
            self._results[key] = result


# Views whose results are cached: they take time and are often repeated (a second page, the back button, popular
# queries).
CACHED_VIEWS = frozenset((views.search, views.formulas))
# Views that only read what is in memory. They need no slot, so that a busy server still reports that it works.
IMMEDIATE_VIEWS = frozenset((views.health,))


async def run_view(request: Request, view: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Return a view's result, from the cache or computed in a slot.

    The computation ends soon after the time limit, because it checks the limit itself. Its slot is free when it has
    ended.
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
