"""Retrieval by terms alone: the classical systems, any family, weighting and view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import THREAD, View
from porism.search.answers.context import QueryContext
from porism.search.index import Index
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.store.records import Filter, TermQuery
from porism.store.weighting import BM25, Weighting

STRONGEST = 60  # terms of each family, by weight x idf, that are searched
MOST_POSTINGS = 1_000_000  # threads in the lists of a search; the longest lists, of frequent terms, are left out first


@dataclass(frozen=True, slots=True)
class TermSearch:
    """Search the query's strongest terms of some families together; with `concepts` those that the query's concepts add."""

    families: tuple[str, ...]
    weighting: Weighting | None = None  # by default, that of the context
    view: View | None = None  # by default, that of the index
    concepts: bool = False

    def query(self, context: QueryContext, k: int, allow: Filter | None = None) -> TermQuery:
        """Return the search for the best k threads, or answers if that is the view's unit."""
        terms = context.concept_terms if self.concepts else context.terms
        strongest = [terms[family].strongest(STRONGEST) for family in self.families]
        searched = [term for found in strongest for term in found.to_search()]
        kept = bounded(np.concatenate([found.documents for found in strongest])) if searched else []
        view = self.view or context.index.view
        return TermQuery([searched[at] for at in kept], view, k, self.weighting or context.weighting, allow)


def bounded(lists: npt.NDArray[np.int64], most: int = MOST_POSTINGS) -> list[int]:
    """Return the positions of the shortest lists that have at most `most` entries in all, in their order; at least one."""
    shortest = np.argsort(lists, kind="stable")
    number = max(1, int(np.searchsorted(np.cumsum(lists[shortest]), most, side="right")))
    positions: list[int] = np.sort(shortest[:number]).tolist()
    return positions


class TermRetriever(Retriever):
    """Ranks threads (named by their questions), or answers if the view is one of answers, by the weights of the query's terms."""

    def __init__(
        self, index: Index, families: Sequence[str], weighting: Weighting | None = None, view: View = THREAD
    ) -> None:
        self._index = index
        self._unit = view.unit
        self._search = TermSearch(tuple(families), weighting or BM25(), view)

    def __repr__(self) -> str:
        search = self._search
        return f"TermRetriever({list(search.families)}, {search.weighting}, {self._unit} view)"

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k posts."""
        snapshot = self._index.snapshot
        found = snapshot.search([self._search.query(QueryContext(query, self._index), k)])[0]
        if self._unit != "thread":
            return Ranking(found.numbers, found.scores)
        threads = snapshot.threads(found.numbers, ())
        return Ranking(threads.post_ids[threads.starts], found.scores)
