"""Candidate threads by terms: the simplest retrievers of an index."""

from __future__ import annotations

from dataclasses import dataclass

from porism.index.protocols import Candidates, Filter
from porism.index.schema import THREAD, View
from porism.index.weighting import BM25, Weighting
from porism.search.answers.context import QueryContext

DEFAULT = BM25()
STRONGEST = 60  # terms of each family, by weight x idf, that are searched


@dataclass(frozen=True, slots=True)
class TermSearch:
    """Search the query's strongest terms of some families together; with `concepts` those that the query's concepts add."""

    families: tuple[str, ...]
    weighting: Weighting = DEFAULT
    view: View = THREAD
    concepts: bool = False

    def candidates(self, context: QueryContext, k: int, allow: Filter | None = None) -> Candidates:
        """Return the best k threads (or answers, if that is the view's unit) by row."""
        terms = context.concept_terms if self.concepts else context.terms
        strongest = [term for family in self.families for term in terms[family].strongest(STRONGEST)]
        return context.index.terms.search(strongest, self.view, self.weighting, k, allow=allow)
