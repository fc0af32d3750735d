"""Terms that a query and a thread share: words, pairs of words, three families of formula terms, concepts and tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from porism.analysis.schema import EVERY_FIELD, FORMULA_FAMILIES, TAG_FAMILY, TERM_FAMILIES, VIEWS
from porism.search.features.feature import Feature, Reason
from porism.search.retrieval.context import Candidate, CandidateBatch, QueryContext, Values
from porism.search.retrieval.query_terms import CONCEPT_FAMILIES

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
        if self.of_formulas:
            text = FAMILY_TEXTS[self._family]
            return [Reason(value, text, formula=terms.formulas[place]) for place, value in found.items()]
        return [Reason(value, VIEW_TEXTS[self._view], word=terms.texts[place]) for place, value in found.items()]


class ConceptFeature(Feature):
    """BM25 of the terms that concepts add: formulas that go with a name in the query, names that go with a formula."""

    # Judged topics are long, so they say little about short queries, in which a name alone should find its formula.
    least_weight: ClassVar[float] = 0.03

    def __init__(self, family: str) -> None:
        self.name = f"concepts.{family}"
        self.families = (family,)
        self._family = family

    def reads(self, context: QueryContext) -> Sequence[str]:
        """Return the family if a concept adds terms of it."""
        return self.families if len(context.concept_terms[self._family]) else ()

    def compute(self, batch: CandidateBatch) -> Values:
        """Return BM25 of the concepts' terms for each thread."""
        return batch.thread_scores(batch.context.concept_terms[self._family])

    def describe(self, batch: CandidateBatch) -> str:
        """Return the concepts in words."""
        matched = [match.concept for match in batch.context.concepts if match.family == self._family]
        return "; ".join(dict.fromkeys(f"“{one.display_name}” is often written ${one.latex}$" for one in matched))


class TagMatch(Feature):
    """The sum of the inverse document frequencies of the tags that the query and the thread share."""

    name = "tags"
    text = "same tags"
    families = (TAG_FAMILY,)

    def reads(self, context: QueryContext) -> Sequence[str]:
        """Return the family of tags if the query has one."""
        return self.families if len(context.terms[TAG_FAMILY]) else ()

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the sum for each thread."""
        terms = batch.context.terms[TAG_FAMILY]
        return batch.presence(terms, terms.idf, EVERY_FIELD)


FAMILIES_OF = {"headings": ("words",)}  # of a view that does not have all of them
FEATURES: tuple[Feature, ...] = (
    *(TermMatch(view, family) for view in VIEWS for family in FAMILIES_OF.get(view, TERM_FAMILIES)),
    *map(ConceptFeature, CONCEPT_FAMILIES),
    TagMatch(),
)
