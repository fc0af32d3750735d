"""Terms of the query in a view of the thread: BM25 of words, pairs of words, and three families of formula terms."""

from __future__ import annotations

from collections.abc import Sequence

from porism.analysis.schema import FORMULA_FAMILIES, TERM_FAMILIES, VIEWS
from porism.search.features.feature import Feature, Reason
from porism.search.retrieval.context import Candidate, CandidateBatch, QueryContext, Values

VIEW_TEXTS = {
    "thread": "in the thread",
    "title": "in the title or tags",
    "headings": "in the headings above",
    "links": "in titles of linked questions",
    "answer": "in the answer",
}
FAMILY_TEXTS = {
    "tuples": "the same symbols side by side",
    "paths": "the same operations",
    "parts": "the same parts, perhaps with other names",
}


class TermMatch(Feature):
    """BM25 of one family of terms in one view."""

    def __init__(self, view: str, family: str) -> None:
        self.name = f"{view}.{family}"
        self.level = "answer" if view == "answer" else "thread"
        self.families = (family,)
        self.of_formulas = family in FORMULA_FAMILIES
        self.unit_of = f"thread.{family}"
        self._view = view
        self._family = family

    def reads(self, context: QueryContext) -> Sequence[str]:
        """Return the family if the query has terms of it."""
        return self.families if len(context.terms[self._family]) else ()

    def compute(self, batch: CandidateBatch) -> Values:
        """Return BM25 of the query's terms."""
        return batch.term_scores(self._family, self._view)

    def explain(self, batch: CandidateBatch, candidate: Candidate) -> list[Reason]:
        """Return one reason for each term: about its word, or about the query formula it comes from."""
        if self._view not in batch.views:
            return []
        terms = batch.context.terms[self._family]
        found = batch.contributions(terms, batch.views[self._view], candidate)
        is_formula = self._family in FORMULA_FAMILIES
        return [
            Reason(value, FAMILY_TEXTS[self._family], formula=terms.formulas[place])
            if is_formula
            else Reason(value, VIEW_TEXTS[self._view], word=terms.texts[place])
            for place, value in found.items()
        ]


FAMILIES_OF = {"headings": ("words",)}  # of a view that does not have all of them
FEATURES = tuple(TermMatch(view, family) for view in VIEWS for family in FAMILIES_OF.get(view, TERM_FAMILIES))
