"""A cache of the latest results: a repeated query is answered at once. A new commit of the index gets a new cache, so
nothing gets stale."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cachetools import LRUCache

from porism.caching import CacheCounts

CACHE_SIZE = 256  # results; ten hits take about 60 KB

Key = tuple[str, tuple[tuple[str, Any], ...]]


class ResponseCache:
    """Results by view and parameters, least recently used out first. Only the event loop uses it, so it needs no
    lock."""

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
