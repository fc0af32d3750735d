"""How often each number came, for more numbers than a dictionary should hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[Any]
Counts = npt.NDArray[np.int64]
FEWEST = 1_000_000  # keys that wait before they are put in their places


class Tally:
    """Keys, sorted and each once, with their counts: 16 bytes a key.

    What is added waits until there is as much of it as is counted already, so that each key is moved a few times only, however often
    something is added; at its most a tally holds three times its keys.
    """

    def __init__(self, kind: str, keys: Keys | None = None, counts: Counts | None = None) -> None:
        self._keys: Keys = np.empty(0, kind) if keys is None else keys
        self._counts: Counts = np.empty(0, np.int64) if counts is None else counts
        self._waiting: list[tuple[Keys, Counts]] = []
        self._size = 0

    def add(self, keys: Keys, counts: Counts) -> None:
        """Add the counts of some keys."""
        self._waiting.append((keys, counts))
        self._size += len(keys)
        if self._size >= max(FEWEST, len(self._keys)):
            self._settle()

    def add_all(self, keys: Keys) -> None:
        """Count each of the keys once, as often as it stands there."""
        found, counts = np.unique(keys, return_counts=True)
        self.add(found, counts)

    def _settle(self) -> None:
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._waiting)])
        counts = np.concatenate([self._counts, *(counts for _, counts in self._waiting)])
        self._waiting, self._size = [], 0
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else np.empty(0, np.int64)
        self._keys = keys[first]
        self._counts = np.add.reduceat(counts, first) if len(first) else counts

    def result(self) -> tuple[Keys, Counts]:
        """The keys, ascending, and their counts."""
        if self._waiting:
            self._settle()
        return self._keys, self._counts
