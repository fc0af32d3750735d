"""Count integer keys, more of them than a dictionary should hold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[Any]
Counts = npt.NDArray[np.int64]
LEAST_BUFFER = 1_000_000  # keys that are buffered at least before they are merged


class CountedKeys(NamedTuple):
    """Distinct keys in ascending order, and the count of each."""

    keys: Keys
    counts: Counts


class KeyCounter:
    """A counter of integer keys that takes 16 bytes a key.

    New keys are buffered until there are as many of them as counted ones and then merged, so that each key is moved a
    few times only. At its peak the counter holds three times its keys."""

    def __init__(self, dtype: str) -> None:
        self._counted = CountedKeys(np.empty(0, dtype), np.empty(0, np.int64))
        self._buffer: list[CountedKeys] = []
        self._buffered = 0

    def add(self, keys: Keys, counts: Counts) -> None:
        """Add the counts of keys."""
        self._buffer.append(CountedKeys(keys, counts))
        self._buffered += len(keys)
        if self._buffered >= max(LEAST_BUFFER, len(self._counted.keys)):
            self._merge()

    def count(self, keys: Keys) -> None:
        """Count every occurrence of the keys once."""
        distinct, counts = np.unique(keys, return_counts=True)
        self.add(distinct, counts)

    def _merge(self) -> None:
        keys = np.concatenate([self._counted.keys, *(block.keys for block in self._buffer)])
        counts = np.concatenate([self._counted.counts, *(block.counts for block in self._buffer)])
        self._buffer, self._buffered = [], 0
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else np.empty(0, np.int64)
        self._counted = CountedKeys(keys[first], np.add.reduceat(counts, first) if len(first) else counts)

    def result(self) -> CountedKeys:
        """Return the keys and their counts."""
        if self._buffer:
            self._merge()
        return self._counted
