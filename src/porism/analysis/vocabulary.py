"""The words of a collection as people write them, with their counts: what corrections of spelling choose from.

The index of terms has stems, from which a word cannot be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled

LONGEST = 40  # letters of a word; longer ones are no words


class NearWord(NamedTuple):
    """A word of the vocabulary near another one: how often it occurs, and how many letters were inserted, deleted, replaced or exchanged."""

    word: str
    uses: int
    distance: int


class Vocabulary:
    """The words of an index and their counts."""

    def __init__(self, read: Callable[[], Mapping[str, int]] = dict) -> None:
        """`read` returns the count of every word; it is called when the first word is looked up."""
        self._read = read

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """The count of every word."""
        return self._read()

    @cached_property
    def _letters(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """The letters of all words one after another, and where each word ends."""
        words = list(self.counts)
        letters = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32)
        return letters, np.cumsum([len(word) for word in words], dtype=np.int64)

    @cached_property
    def _words(self) -> list[str]:
        return list(self.counts)

    def near(self, word: str, distance: int) -> list[NearWord]:
        """Return the words within a distance (optimal string alignment), the nearest first, then the most frequent."""
        if not self.counts or not word or len(word) > LONGEST:
            return []
        letters, ends = self._letters
        wanted = np.frombuffer(word.encode("utf-32-le"), np.uint32)
        found = np.zeros(len(ends), np.uint8)
        _distances(wanted, letters, ends, distance, found)
        rows = np.flatnonzero(found <= distance).tolist()
        near = [NearWord(self._words[row], self.counts[self._words[row]], int(found[row])) for row in rows]
        return sorted(near, key=lambda one: (one.distance, -one.uses, one.word))


@compiled
def _distances(wanted: Any, letters: Any, ends: Any, limit: int, out: Any) -> None:
    """Write the distance of each word, or limit + 1 where it is larger."""
    size = len(wanted)
    rows = np.zeros((3, size + 1), np.int64)
    start = 0
    for number in range(len(ends)):
        end = ends[number]
        length = end - start
        if abs(length - size) > limit:
            out[number] = limit + 1
            start = end
            continue
        for column in range(size + 1):
            rows[0, column] = column
        smallest = 0
        for at in range(1, length + 1):
            now, last, before = at % 3, (at - 1) % 3, (at - 2) % 3
            rows[now, 0] = at
            smallest = at
            letter = letters[start + at - 1]
            for column in range(1, size + 1):
                cost = 0 if wanted[column - 1] == letter else 1
                best = min(rows[last, column] + 1, rows[now, column - 1] + 1, rows[last, column - 1] + cost)
                if (
                    at > 1
                    and column > 1
                    and wanted[column - 2] == letter
                    and wanted[column - 1] == letters[start + at - 2]
                ):
                    best = min(best, rows[before, column - 2] + 1)
                rows[now, column] = best
                smallest = min(smallest, best)
            if smallest > limit + 1:
                break
        out[number] = min(limit + 1, rows[length % 3, size]) if smallest <= limit + 1 else limit + 1
        start = end
