"""Rows of an index over the rows of its segments.

Rows that are not deleted are numbered 0, 1, 2, ... in the order of a key (question ids, visual ids), whatever segment they are in. So equal
scores are ordered as in an index that was built from scratch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
DELETED = -1


class SegmentRows(NamedTuple):
    """Some requested rows that are in one segment: the segment, their positions in the request, and their rows in the segment."""

    segment: int
    positions: Ints
    rows: Ints


class RowMap:
    """The rows of an index and where they are. Memory: 10 bytes a row."""

    def __init__(self, keys: Sequence[Ints], deleted: Sequence[Ints]) -> None:
        """Number the rows by `keys`, one array for each segment; `deleted` has the deleted rows of each segment."""
        kept = [np.delete(np.arange(len(own)), gone) for own, gone in zip(keys, deleted, strict=True)]
        sizes = [len(rows) for rows in kept]
        order = np.argsort(np.concatenate([own[rows] for own, rows in zip(keys, kept, strict=True)]), kind="stable")
        self._segments = np.repeat(np.arange(len(sizes), dtype=np.uint16), sizes)[order]
        self._rows = np.concatenate(kept).astype(np.int32)[order]
        numbers = np.empty(len(order), np.int32)
        numbers[order] = np.arange(len(order))
        self._numbers: list[npt.NDArray[np.int32]] = []
        for own, rows, part in zip(keys, kept, np.split(numbers, np.cumsum(sizes)[:-1]), strict=True):
            found = np.full(len(own), DELETED, np.int32)
            found[rows] = part
            self._numbers.append(found)

    def __len__(self) -> int:
        return len(self._rows)

    def number(self, segment: int, rows: Ints) -> Ints:
        """Return the rows of the index of rows of a segment, DELETED for deleted ones."""
        return self._numbers[segment][rows].astype(np.int64)

    def split(self, rows: Ints) -> Iterator[SegmentRows]:
        """Yield rows of the index by segment, each segment that has any of them once."""
        segments = self._segments[rows]
        for segment in np.unique(segments).tolist():
            positions = np.flatnonzero(segments == segment)
            yield SegmentRows(segment, positions, self._rows[rows[positions]].astype(np.int64))
