"""The terms of formulas, from posting lists: the embedded store keeps those only. Rows are read in ranges, so that
memory is bounded. Compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.store.embedded.storage.rows import get
from porism.store.embedded.terms.postings import DISTANCE_SHIFT, PostingLists
from porism.store.records import TermRows

Ints = npt.NDArray[np.int64]
MOST_ENTRIES = 4_000_000  # of a range of rows, 20 MB


@compiled
def _count(data: Any, ends: Any, sizes: Any) -> None:
    """Count the entries of each row."""
    start = np.int64(0)
    for number in range(len(ends)):
        at, end, row = start, np.int64(ends[number]), np.int64(0)
        while at < end:
            value, at = get(data, at)
            row += value >> DISTANCE_SHIFT
            if value & 1:
                _, at = get(data, at)
            sizes[row] += 1
        start = end


@compiled
def _fill(data: Any, ends: Any, low: int, high: int, places: Any, codes: Any, counts: Any) -> None:
    """Write the entries of the rows from `low` up to `high` to their places."""
    start = np.int64(0)
    for number in range(len(ends)):
        at, end, row = start, np.int64(ends[number]), np.int64(0)
        while at < end:
            value, at = get(data, at)
            row += value >> DISTANCE_SHIFT
            count = np.int64(1)
            if value & 1:
                count, at = get(data, at)
                count += 2
            if low <= row < high:
                codes[places[row - low]], counts[places[row - low]] = number, count
                places[row - low] += 1
        start = end


class RowRange(NamedTuple):
    """Rows and their terms in each family."""

    first: int
    end: int
    terms: dict[str, TermRows]


def read_rows(lists: dict[str, PostingLists], lengths: dict[str, npt.NDArray[Any]], rows: int) -> Iterator[RowRange]:
    """Yield all rows with their terms by family, in ranges. Each row is a document with a single field."""
    sizes = {family: np.zeros(rows, np.int64) for family in lists}
    for family, own in lists.items():
        _count(own.data, own.ends, sizes[family])
    total = np.cumsum(np.sum([*sizes.values()], axis=0)) if rows else np.empty(0, np.int64)
    low = 0
    while low < rows:
        before = int(total[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(total, before + MOST_ENTRIES, side="right")))
        terms = {
            family: _range(own, sizes[family][low:high], lengths[family][low:high], low)
            for family, own in lists.items()
        }
        yield RowRange(low, high, terms)
        low = high


def _range(lists: PostingLists, sizes: Ints, lengths: npt.NDArray[Any], low: int) -> TermRows:
    ends = np.cumsum(sizes)
    size = int(ends[-1])
    codes, counts = np.empty(size, np.uint32), np.empty(size, np.uint8)
    _fill(lists.data, lists.ends, low, low + len(sizes), ends - sizes, codes, counts)
    fields = np.zeros(size, np.uint8)
    return TermRows(ends - sizes, ends, codes, fields, counts, lengths.reshape(len(sizes), -1).astype(np.int32))
