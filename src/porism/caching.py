"""Caches that belong to an object and end with it, and caches of texts that are bounded in bytes."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable
from functools import lru_cache, wraps
from threading import Lock
from typing import ParamSpec, TypeVar, cast

from cachetools import LRUCache

P = ParamSpec("P")
T = TypeVar("T")
ENTRY_BYTES = 400  # that an entry takes at most beside its two texts


def cached_method(size: int, method: Callable[P, T]) -> Callable[P, T]:
    """Return a bound method that keeps its latest results, for an attribute of its object.

    `lru_cache(size)(self.method)` would refer to the object, which refers to the cache: only the garbage collector could free it, and with it the
    files that an index maps. Arguments must be hashable.
    """
    bound = weakref.WeakMethod(method)

    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        alive = bound()
        assert alive is not None  # whoever calls it has its object
        return alive(*args, **kwargs)

    return cast(Callable[P, T], lru_cache(size)(call))


def cached_text(size: int) -> Callable[[Callable[[str], str]], Callable[[str], str]]:
    """Return a decorator for a function of one text that returns a text: its latest results are kept in at most `size` bytes.

    A number of results would bound no memory: posts and queries hold formulas of any length. Safe for concurrent use.
    """

    def decorated(function: Callable[[str], str]) -> Callable[[str], str]:
        kept: LRUCache[str, tuple[str, str]] = LRUCache(size, _entry_bytes)
        lock = Lock()

        @wraps(function)
        def call(text: str) -> str:
            with lock:
                found = kept.get(text)
            if found is None:
                found = text, function(text)
                with lock, contextlib.suppress(ValueError):  # an entry that is larger than the cache is not kept
                    kept[text] = found
            return found[1]

        return call

    return decorated


def _entry_bytes(entry: tuple[str, str]) -> int:
    """Return what a text and its result take. Caches measure values, not keys, so that the text is stored with its result."""
    return sys.getsizeof(entry[0]) + sys.getsizeof(entry[1]) + ENTRY_BYTES
