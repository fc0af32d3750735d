"""The words of a collection as people write them, with their counts: what corrections of spelling choose from.

The index of terms has stems, from which a word cannot be shown. The vocabulary is read from at most MAX_POSTS posts, evenly spread, so that its
cost is bounded; words that occur only once there are mostly misspelt themselves and are left out, unless they are in a title.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.words import WORD
from porism.compiled import compiled
from porism.corpus.store.collection import Collection
from porism.text.segment import Text

NAME = "vocabulary.tsv"
MAX_POSTS = 200_000
LONGEST = 40  # letters of a word; longer ones are no words


class NearWord(NamedTuple):
    """A word of the vocabulary near another one: how often it occurs, and how many letters were inserted, deleted, replaced or exchanged."""

    word: str
    uses: int
    distance: int


def write_vocabulary(collection: Collection, directory: Path) -> None:
    """Count the words of a collection and write them, one a line, in alphabetical order."""
    counts: Counter[str] = Counter()
    titles: set[str] = set()
    step = max(1, collection.count("posts") // MAX_POSTS)
    for number, post in enumerate(collection.posts()):
        if number % step == 0:
            counts.update(_words(post.body))
            own = _words(post.title)
            counts.update(own)
            titles.update(own)
    kept = sorted(word for word, count in counts.items() if count > 1 or word in titles)
    (directory / NAME).write_text("".join(f"{word}\t{counts[word]}\n" for word in kept), "utf-8")


def _words(text: Text) -> list[str]:
    plain = " ".join(segment.text for segment in text.segments if segment.kind == "text")
    return [word for word in WORD.findall(plain.lower()) if word.isalpha() and 1 < len(word) <= LONGEST]


class Vocabulary:
    """The words of an index; empty for an index without the file."""

    def __init__(self, directory: Path | None = None) -> None:
        self._path = None if directory is None else directory / NAME

    @cached_property
    def counts(self) -> dict[str, int]:
        """The count of every word."""
        lines = self._path.read_text("utf-8").splitlines() if self._path is not None and self._path.exists() else []
        return {word: int(count) for word, _, count in (line.partition("\t") for line in lines)}

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
