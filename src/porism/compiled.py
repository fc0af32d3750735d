"""Compile functions over arrays with numba. The machine code is cached on disk and runs without the interpreter lock.

numba takes longer to import than most commands take to run. So it is imported when a compiled function is first called, and what it prepares
in order to compile is skipped when the function is in the cache.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import update_wrapper
from threading import RLock
from types import FunctionType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., object])
_LOADING = RLock()


def compiled(function: Function) -> Function:
    """Return a function that numba compiles, or loads from its cache, on the first call."""
    return cast(Function, _Compiled(cast(FunctionType, function)))


class _Compiled:
    """A function that is compiled on its first call."""

    __name__: str

    def __init__(self, function: FunctionType) -> None:
        update_wrapper(self, function)
        self._function = function
        self._native: Callable[..., object] | None = None

    def __call__(self, *arguments: Any) -> object:
        """Call the compiled function."""
        native = self._native
        return self.native()(*arguments) if native is None else native(*arguments)

    def native(self) -> Callable[..., object]:
        """Return numba's function. It replaces this object in the module that defines it."""
        with _LOADING:
            if self._native is None:
                native = _numba_function(self._function)
                names = self._function.__globals__
                names[self.__name__] = native
                # When numba compiles the code, it must find functions of its own under the names that the code uses.
                for name in self._function.__code__.co_names:
                    used = names.get(name)
                    if isinstance(used, _Compiled):
                        names[name] = used.native()
                self._native = native
            return self._native


def _numba_function(function: FunctionType) -> Callable[..., object]:
    """Return the function as numba's, which compiles it for each combination of argument types."""
    from numba import njit
    from numba.core.runtime import rtsys

    made: Any = njit(cache=True, nogil=True)(function)
    cache = made._cache

    def load(signature: Any, context: Any) -> Any:
        """Load machine code. The original method imports the whole compiler first, and SciPy for its BLAS: a third of a second."""
        rtsys.initialize(context)
        try:
            with cache._guard_against_spurious_io_errors():
                return cache._load_overload(signature, context)
        except Exception as error:  # a damaged file, which can raise anything: it is written again
            logging.getLogger("porism").warning("the cache of compiled code is damaged, and is made again: %r", error)
            cache.flush()
            return None

    if hasattr(cache, "_load_overload") and hasattr(cache, "_guard_against_spurious_io_errors"):
        cache.load_overload = load
    return cast(Callable[..., object], made)
