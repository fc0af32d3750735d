"""Candidate threads: the union of the best of several searches. Each search finds threads that the others miss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from porism.evaluate.fusion import ScoredIds
from porism.index.protocols import Filter
from porism.search.answers.concept_matches import CONCEPT_FAMILIES
from porism.search.answers.context import Contexts
from porism.search.answers.term_search import TermSearch
from porism.search.fusion import RRF, Fusion
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever

Ints = npt.NDArray[np.int64]
SOURCES = (
    TermSearch(("words", "pairs")),
    TermSearch(("tuples", "paths")),
    TermSearch(("parts",)),
    TermSearch(CONCEPT_FAMILIES, concepts=True),
)
DEPTH = 1000  # threads of each source
MOST_THREADS = DEPTH * len(
    SOURCES
)  # the largest number of threads that is re-ranked, whatever the size of the collection


class ThreadCandidates(Retriever):
    """Find candidate threads, identified by their questions."""

    def __init__(
        self, contexts: Contexts, sources: Sequence[TermSearch] = SOURCES, fusion: Fusion | None = None
    ) -> None:
        self._contexts = contexts
        self._sources = sources
        self._fusion = fusion or RRF()

    def search(self, query: ReadQuery, k: int, allow: Filter | None = None) -> Ranking:
        """Return the best k threads of all sources together."""
        context = self._contexts.of(query)
        found = [source.candidates(context, DEPTH, allow) for source in self._sources]
        fused = self._fusion.fuse([ScoredIds(one.rows, one.scores) for one in found])
        ids = self._contexts.index.documents.post_ids("thread", fused.ids[:k])
        return Ranking(ids, fused.scores[:k])
