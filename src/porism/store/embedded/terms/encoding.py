"""Posting lists as bytes: for each entry the distance to the row before it, the field and the count, in integers of variable length
(`porism.store.embedded.storage.integers`).

The first integer of an entry is (distance << 5) | (field << 1) | more, and if `more` is set a second one holds count - 2. A count of 1 needs
no second integer, which is the common case. Compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from porism.compiled import compiled
from porism.store.embedded.storage.integers import get, put
from porism.store.embedded.storage.rows import FIELD_BITS, FIELD_SHIFT, MOST_COUNT

DISTANCE_SHIFT = FIELD_BITS + 1  # of the first integer, below the distance: field and flag
FIELD_MASK = (1 << FIELD_BITS) - 1
LONGEST = 7  # bytes of one entry at most: 31 bits of distance, 5 of field and flag, and a count of 4 bits


@compiled
def encode_lists(starts: Any, rows: Any, cells: Any, out: Any, ends: Any) -> None:
    """Write posting lists one after another. List number i has the entries from starts[i] to starts[i + 1]; ends[i] is where its bytes
    end."""
    at = 0
    for number in range(len(starts) - 1):
        before: Any = np.int64(0)
        for entry in range(starts[number], starts[number + 1]):
            count = np.int64(cells[entry] & MOST_COUNT)
            field = np.int64(cells[entry] >> FIELD_SHIFT)
            row = np.int64(rows[entry])
            at = put(((row - before) << DISTANCE_SHIFT) | (field << 1) | (1 if count > 1 else 0), out, at)
            if count > 1:
                at = put(count - 2, out, at)
            before = row
        ends[number] = at


@compiled
def decode(data: Any, at: int, end: int, rows: Any, cells: Any) -> int:
    """Read the entries of one posting list into arrays; return how many there are."""
    size = 0
    row = np.int64(0)
    while at < end:
        value, at = get(data, at)
        row += value >> DISTANCE_SHIFT
        count = np.int64(1)
        if value & 1:
            count, at = get(data, at)
            count += 2
        rows[size] = row
        cells[size] = np.uint8((((value >> 1) & FIELD_MASK) << FIELD_SHIFT) | count)
        size += 1
    return size
