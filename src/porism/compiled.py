"""Functions over arrays, compiled: once on each machine (kept on disk), and run without holding the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """A function compiled when it is first called."""
    return cast(Function, njit(cache=True, nogil=True)(function))
