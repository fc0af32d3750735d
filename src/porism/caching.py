"""Caches that belong to an object and end with it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


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
