"""Caches that belong to an object and end with it, and caches of texts that are bounded in bytes."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from threading import Lock
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")
ENTRY_BYTES = 400  # that an entry takes at most beside its two texts


def cached_method(size: int, method: Callable[P, T]) -> Callable[P, T]:
    """Return a bound method that keeps its latest results, for an attribute of its object.

    `lru_cache(size)(self.method)` would refer to the object, which refers to the cache: only the garbage collector
    could free it, and with it the files that an index maps. Arguments must be hashable."""
    bound = weakref.WeakMethod(method)

    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        alive = bound()
        assert alive is not None  # whoever calls it has its object
        return alive(*args, **kwargs)

    return cast(Callable[P, T], lru_cache(size)(call))


def cached_text(size: int) -> Callable[[Callable[[str], str]], Callable[[str], str]]:
    """Return a decorator for a function of one text that returns a text: its latest results are kept in at most `size`
    bytes.

    A number of results would bound no memory: posts and queries hold formulas of any length. Safe for concurrent
    use."""

    def decorated(function: Callable[[str], str]) -> Callable[[str], str]:
        kept = _Generations(size // 2)

        @wraps(function)
        def call(text: str) -> str:
            found = kept.get(text)
            if found is None:
                found = function(text)
                kept.put(text, found)
            return found

        return call

    return decorated


class _Generations:
    """Texts and results in two generations of at most `most` bytes: when the young one is full, it becomes the old one,
    and the old one before it is forgotten.

    A lookup takes no lock. Threads of a server that waited for one at each formula took a tenth more processor time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._young: dict[str, str] = {}
        self._old: dict[str, str] = {}
        self._bytes = 0
        self._lock = Lock()

    def get(self, text: str) -> str | None:
        """Return the result of a text; one of the old generation becomes young again."""
        found = self._young.get(text)
        if found is None and (found := self._old.get(text)) is not None:
            self.put(text, found)
        return found

    def put(self, text: str, result: str) -> None:
        """Keep a result, unless it is larger than a generation."""
        size = sys.getsizeof(text) + sys.getsizeof(result) + ENTRY_BYTES
        if size > self._most:
            return
        with self._lock:
            if text in self._young:
                return
            if self._bytes + size > self._most:
                self._old, self._young, self._bytes = self._young, {}, 0
            self._young[text] = result
            self._bytes += size


@dataclass(slots=True)
class CacheCounts:
    """Hits and misses of a cache."""

    hits: int = 0
    misses: int = 0

    def count(self, hit: bool) -> None:
        """Count a lookup."""
        self.hits += hit
        self.misses += not hit
