"""What is learned from a collection: concepts, which are names of formulas, and the vocabulary that corrections of
spelling choose from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.text.words import FORMULA, WORD, stems, stems_of, stopwords

LONGEST_NAME = 3  # words


class Concept(NamedTuple):
    """A name and a formula that go together.

    `name` is in stems, `display_name` as people write it. `formula_term` is the term of the formula's canonical form,
    `latex` the formula as people write it. `posts` have both, and `strength` is the log-likelihood ratio."""

    name: str
    display_name: str
    formula_term: str
    latex: str
    posts: int
    strength: float


class ConceptName(NamedTuple):
    """A name in a text: its stems, and the words as written."""

    stems: str
    text: str


@lru_cache(1)
def head_nouns() -> frozenset[str]:
    """Return the stems of nouns that end a name, such as theorem, formula and law."""
    return frozenset(stems(files("porism.analysis").joinpath("concept_heads.txt").read_text("utf-8")))


def find_names(text: str) -> Iterator[ConceptName]:
    """Yield the names in a text: each head noun with the one or two words before it.

    >>> [tuple(name) for name in find_names("by Fermat's theorem, the quadratic formulas")]
    [('fermat theorem', 'fermat theorem'), ('quadrat formula', 'quadratic formulas')]
    """
    words = WORD.findall(text)
    return names_of(words, stems_of(words))


def names_of(words: Sequence[str], stems: Sequence[str]) -> Iterator[ConceptName]:
    """Yield the names in a text, given its words and their stems."""
    heads = head_nouns()
    for at in [at for at, found in enumerate(stems) if found in heads]:
        if not _separates(stems[at]):
            phrase = _phrase(at, stems)
            for size in range(2, len(phrase) + 1):
                tail = phrase[-size:]
                name = " ".join([stems[place] for place in tail])
                yield ConceptName(name, " ".join([words[place].lower() for place in tail]))


def _phrase(end: int, stems: Sequence[str]) -> list[int]:
    """Return the positions of the words before a head noun that may belong to its name, and its own."""
    phrase = [end]
    while end > 0 and len(phrase) < LONGEST_NAME:
        end -= 1
        if stems[end] == "s":  # of Fermat's
            continue
        if _separates(stems[end]):
            break
        phrase.insert(0, end)
    return phrase


def _separates(found: str) -> bool:
    """Return whether a stem is part of no name."""
    return found == FORMULA or found in stopwords() or found.isdigit()


def log_likelihood_ratio(both: int, left: int, right: int, total: int) -> float:
    """Return Dunning's statistic, twice the log-likelihood ratio of a 2 x 2 table.

    `both` posts have both, `left` and `right` posts have the one and the other, out of `total`. The result is 0 if the
    two occur together no more often than by chance.

    >>> round(log_likelihood_ratio(3, 3, 3, 100), 1)
    26.9
    """
    if both * total <= left * right:
        return 0.0
    cells = (both, left - both, right - both, total - left - right + both)
    margins = (left * right, left * (total - right), (total - left) * right, (total - left) * (total - right))
    return 2.0 * sum(
        cell * math.log(cell * total / margin) for cell, margin in zip(cells, margins, strict=True) if cell
    )


LONGEST = 40  # letters of a word; longer ones are no words


class NearWord(NamedTuple):
    """A word of the vocabulary near another one: how often it occurs, and how many letters were inserted, deleted,
    replaced or exchanged."""

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
