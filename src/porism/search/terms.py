"""Retrieval by terms alone: the classical systems, any family, weighting and view."""

from __future__ import annotations

from collections.abc import Sequence

from porism.analysis.schema import THREAD, View
from porism.search.answers.context import QueryContext
from porism.search.answers.term_search import TermSearch
from porism.search.index import Index
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.store.weighting import BM25, Weighting


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
