"""Retrievers and re-rankers: what searches, and how the parts compose.

A retriever turns a query into a ranking; a re-ranker turns a ranking into another. `a >> b` re-ranks what `a` finds with `b`;
`fuse(a, b, method=RRF())` combines the rankings of several retrievers. Write your own by implementing one method; the page "Write your own
retriever" of the documentation shows how, and `porism.search.conformance` checks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.evaluate.fusion import ScoredIds
from porism.records import Explanation, Hit
from porism.search.fusion import RRF, Fusion
from porism.search.query import ReadQuery

DEPTH = 1000  # hits that a composed retriever takes from each of its parts, at least


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Ids with scores, best first. Equal scores are in the order that trec_eval uses: larger id, as text, first."""

    ids: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]

    @classmethod
    def of(cls, scores: Mapping[int, float] | Iterable[tuple[int, float]], k: int | None = None) -> Ranking:
        """Make a ranking of (id, score) pairs in any order, and keep the best k."""
        pairs = list(scores.items()) if isinstance(scores, Mapping) else list(scores)
        ids = np.array([number for number, _ in pairs], np.int64)
        return cls.sorted(ids, np.array([score for _, score in pairs], np.float64)).top(len(pairs) if k is None else k)

    @classmethod
    def sorted(cls, ids: npt.NDArray[np.int64], scores: npt.NDArray[np.floating]) -> Ranking:
        """Make a ranking of parallel arrays in any order."""
        order = np.lexsort((ids.astype(np.bytes_), scores))[::-1]
        return cls(ids[order], np.asarray(scores[order], np.float64))

    def top(self, k: int) -> Ranking:
        """Return the best k."""
        return Ranking(self.ids[: max(k, 0)], self.scores[: max(k, 0)])

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Hit]:
        return (Hit(number, score) for number, score in zip(self.ids.tolist(), self.scores.tolist(), strict=True))


class Retriever:
    """Finds posts, or formulas by their visual ids, for a query. Subclasses implement `search`."""

    finds: Literal["posts", "formulas"] = "posts"

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return at most k hits, best first."""
        raise NotImplementedError

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Explain the score of a hit. A subclass may give parts, which sum to the score; without them it is score and rank only."""
        found = self.search(query, DEPTH)
        at = np.flatnonzero(found.ids == id)
        if not len(at):
            raise PorismError(
                f"{id} is not among the first {DEPTH} hits of this query", fix="name a hit of the ranking"
            )
        return Explanation(float(found.scores[at[0]]), f"rank {int(at[0]) + 1} of {len(found)}")

    def __rshift__(self, reranker: Reranker) -> Retriever:
        return Reranked(self, reranker)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Reranker:
    """Orders the hits of another retriever anew. Subclasses implement `rerank`. It may return other items than it was given: the default
    engine receives threads, named by their questions, and returns answers."""

    depth: int = DEPTH  # hits that it reads at most

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        """Return the hits in a new order."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@dataclass(frozen=True, repr=False)
class Reranked(Retriever):
    """A retriever whose first hits a re-ranker orders anew."""

    retriever: Retriever
    reranker: Reranker

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the re-ranked hits; the re-ranker reads a bounded number of them."""
        found = self.retriever.search(query, self.reranker.depth)
        return self.reranker.rerank(query, found).top(k)

    def __repr__(self) -> str:
        return f"{self.retriever} >> {self.reranker}"


@dataclass(frozen=True, repr=False)
class Fused(Retriever):
    """Several retrievers as one."""

    retrievers: tuple[Retriever, ...]
    method: Fusion

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the fused ranking of what each retriever finds."""
        rankings = [retriever.search(query, max(k, DEPTH)) for retriever in self.retrievers]
        return Ranking.sorted(*self.method.fuse([ScoredIds(one.ids, one.scores) for one in rankings])).top(k)

    def __repr__(self) -> str:
        return f"fuse({', '.join(map(str, self.retrievers))}, method={self.method})"


def fuse(*retrievers: Retriever, method: Fusion | None = None) -> Retriever:
    """Return a retriever that combines the rankings of several, by reciprocal ranks unless another method is given."""
    if not retrievers:
        raise ValueError("fuse needs at least one retriever")
    return Fused(retrievers, RRF() if method is None else method)
