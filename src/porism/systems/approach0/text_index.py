"""Words of documents with their positions, and the text score of Approach Zero: BM25 plus the proximity of two query words."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.systems.lexical.stored_arrays import open_arrays, save_arrays

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
K1, B = 2.0, 0.75
LEAST_PROXIMITY = 0.3
ARRAYS = ("lengths", "starts", "documents", "positions")


class WordDocument(NamedTuple):
    """The words of a document, each with its position; `length` counts formulas too, each as one position."""

    words: Sequence[tuple[str, int]]
    length: int


class Occurrences(NamedTuple):
    """The occurrences of one word: the document and the position of each."""

    documents: Small
    positions: Small


@dataclass(frozen=True)
class TextIndex:
    """Occurrences of words. Those of word w are at starts[w] to starts[w + 1], in the order of documents and positions."""

    codes: dict[str, int]
    lengths: Small
    starts: Ints
    documents: Small
    positions: Small

    @cached_property
    def mean_length(self) -> int:
        """The mean length of a document, cut to an integer as in the original."""
        return max(int(self.lengths.mean()), 1) if len(self.lengths) else 1

    def occurrences(self, word: str) -> Occurrences:
        """Return where a word occurs."""
        code = self.codes.get(word)
        place = slice(0, 0) if code is None else slice(int(self.starts[code]), int(self.starts[code + 1]))
        return Occurrences(self.documents[place], self.positions[place])

    def weights(self, word: str) -> tuple[Small, Floats]:
        """Return the documents of a word and its BM25 weight in each."""
        documents, counts = np.unique(self.occurrences(word).documents, return_counts=True)
        idf = np.log((len(self.lengths) + 1) / max(len(documents), 1))
        norm = K1 * (1 - B + B * self.lengths[documents] / self.mean_length)
        return documents, np.asarray(idf * (1 + (K1 + 1) * counts / (counts + norm)), np.float64)

    def scores(self, words: Sequence[str]) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return the BM25 score of every document, and whether it holds a word of the query. A repeated word counts each time."""
        scores = np.zeros(len(self.lengths))
        found = np.zeros(len(self.lengths), np.bool_)
        for word, number in Counter(words).items():
            documents, weights = self.weights(word)
            scores[documents] += number * weights
            found[documents] = True
        return scores, found

    def proximity(self, words: Sequence[str]) -> Floats:
        """Return ln(0.3 + e^-d) of every document, where d is the smallest distance of two different words of the query."""
        distances = np.full(len(self.lengths), np.inf)
        lists = [self.occurrences(word) for word in dict.fromkeys(words)]
        if len(lists) > 1:
            documents = np.concatenate([one.documents for one in lists])
            positions = np.concatenate([one.positions for one in lists])
            items = np.repeat(np.arange(len(lists)), [len(one.documents) for one in lists])
            order = np.lexsort((positions, documents))
            documents, positions, items = documents[order], positions[order], items[order]
            pairs = (documents[1:] == documents[:-1]) & (items[1:] != items[:-1])
            np.minimum.at(distances, documents[1:][pairs], (positions[1:] - positions[:-1])[pairs])
        return np.asarray(np.log(LEAST_PROXIMITY + np.exp(-distances)), np.float64)

    def save(self, folder: Path) -> None:
        """Write the index into a folder."""
        save_arrays(self, ARRAYS, self.codes, folder)

    @classmethod
    def open(cls, folder: Path) -> TextIndex:
        """Open an index; its arrays are mapped, not read."""
        codes, arrays = open_arrays(ARRAYS, folder)
        return cls(codes, *arrays)


def index_words(documents: Iterable[WordDocument]) -> TextIndex:
    """Index the words of documents, in their order."""
    codes: dict[str, int] = {}
    lengths, words, places, positions = array("i"), array("i"), array("i"), array("i")
    for place, document in enumerate(documents):
        lengths.append(document.length)
        for word, position in document.words:
            words.append(codes.setdefault(word, len(codes)))
            places.append(place)
            positions.append(position)
    by_word = np.array(words, np.int32)
    order = np.argsort(by_word, kind="stable")
    starts = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(np.bincount(by_word, minlength=len(codes)), out=starts[1:])
    return TextIndex(
        codes,
        np.array(lengths, np.int32),
        starts,
        np.array(places, np.int32)[order],
        np.array(positions, np.int32)[order],
    )
