"""Integers of variable length in bytes: seven bits a byte, the lowest first; the eighth bit says that more follow. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from porism.compiled import compiled


@compiled
def put(value: Any, out: Any, at: int) -> int:
    """Write one integer; return the position after it."""
    while value > 127:
        out[at] = (value & 127) | 128
        value >>= 7
        at += 1
    out[at] = value
    return at + 1


@compiled
def get(data: Any, at: Any) -> Any:
    """Read one integer; return it and the position after it."""
    value = np.int64(0)
    shift = 0
    while True:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
