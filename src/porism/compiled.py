"""Compile functions over arrays with numba. The machine code is cached on disk and runs without the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Return a function that numba compiles on its first call."""
    return cast(Function, njit(cache=True, nogil=True)(function))
