"""The ranking of MathDowers: BM25 over words and tuples, whose weights are 1 - alpha and alpha."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.records import Explanation
from porism.search.retriever import Ranking
from porism.systems.lexical.inverted import Floats, InvertedIndex, best

K1, B = 1.2, 0.75


@dataclass(frozen=True)
class WeightedBM25:
    """BM25 over an inverted index. A token that begins with a number sign is a tuple and has weight alpha, a word 1 - alpha."""

    index: InvertedIndex
    alpha: float

    @cached_property
    def _penalties(self) -> Floats:
        """What each document's length adds to a count."""
        mean = self.index.mean_length or 1.0
        return np.asarray(K1 * (1 - B + B * self.index.lengths / mean), np.float64)

    def weight(self, token: str, count: int) -> float:
        """Return the weight of a query token: its count, its kind and its idf."""
        frequency = int(self.index.frequencies[self.index.codes[token]])
        idf = np.log1p((len(self.index.ids) - frequency + 0.5) / (frequency + 0.5))
        return float(count * (self.alpha if token[:1] == "#" else 1 - self.alpha) * idf)

    def search(self, tokens: Sequence[str], k: int) -> Ranking:
        """Return the k best documents that hold a token of the query; of equal scores the earlier document first."""
        index = self.index
        counts = {token: count for token, count in Counter(tokens).items() if token in index.codes}
        scores = np.zeros(len(index.ids))
        if not counts or not len(scores):
            return Ranking.of({})
        codes = np.array([index.codes[token] for token in counts], np.int64)
        weights = np.array([self.weight(token, count) for token, count in counts.items()])
        found = np.zeros(len(scores), np.bool_)
        add_scores(codes, weights, index.starts, index.documents, index.counts, self._penalties, scores, found)
        return best(index, scores, found, k)

    def explain(self, tokens: Sequence[str], id: int) -> Explanation | None:
        """Return the score of a document token by token, the highest first; None when it holds none of them."""
        places = np.flatnonzero(self.index.ids == id)
        if not len(places):
            return None
        place = int(places[0])
        parts = []
        for token, count in Counter(tokens).items():
            documents, counts = self.index.postings(token)
            at = int(np.searchsorted(documents, place))
            if at < len(documents) and documents[at] == place:
                number = int(counts[at])
                value = self.weight(token, count) * (K1 + 1) * number / (number + self._penalties[place])
                parts.append(Explanation(float(value), f"{token}: {count} in the query, {number} in the document"))
        parts.sort(key=lambda part: -part.value)
        total = sum(part.value for part in parts)
        return Explanation(total, f"BM25 of words and tuples, alpha {self.alpha:g}", tuple(parts)) if parts else None


@compiled
def add_scores(
    codes: npt.NDArray[np.int64],
    weights: Floats,
    starts: npt.NDArray[np.int64],
    documents: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int32],
    penalties: Floats,
    scores: Floats,
    found: npt.NDArray[np.bool_],
) -> None:
    """Add the weight of each query token to the scores of its documents."""
    for place in range(len(codes)):
        for at in range(starts[codes[place]], starts[codes[place] + 1]):
            document = documents[at]
            scores[document] += weights[place] * (K1 + 1) * counts[at] / (counts[at] + penalties[document])
            found[document] = True
