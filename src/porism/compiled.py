"""Compile functions over arrays with numba. The machine code is cached on disk and runs without the interpreter lock.

numba takes longer to import than most commands take to run. So it is imported when a compiled function is first called,
and what it prepares in order to compile is skipped when the function is in the cache."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def load_numba() -> Any:
    """Import numba without the file `.numba_config.yaml` of the current folder, which could name a cache with machine
    code of others."""
    with _LOADING, _without_yaml():
        import numba
        from numba.core import config

        if getattr(config, "_config_fname", ""):  # read by now if another module imported numba before
            config._config_fname = ""
            config._env_reloader.reset()
    return numba


@contextmanager
def _without_yaml() -> Iterator[None]:
    """Let numba find no reader for such a file where there is one."""
    if not os.path.exists(".numba_config.yaml"):
        yield
        return
    before = sys.modules.pop("yaml", None)
    sys.modules["yaml"] = None  # type: ignore[assignment]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A Numba config file is found")
            yield
    finally:
        del sys.modules["yaml"]
        if before is not None:
            sys.modules["yaml"] = before


def _numba_function(function: FunctionType) -> Callable[..., object]:
    """Return the function as numba's, which compiles it for each combination of argument types."""
    numba = load_numba()
    from numba.core.runtime import rtsys

    made: Any = numba.njit(cache=True, nogil=True)(function)
    cache = made._cache

    def load(signature: Any, context: Any) -> Any:
        """Load machine code. The original method imports the whole compiler first, and SciPy for its BLAS: a third of a
        second."""
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
