"""Concepts: formulas that go with a name in the query, and names that go with a formula in it."""

from __future__ import annotations

from porism.search.answers.concept_matches import CONCEPT_FAMILIES
from porism.search.answers.context import CandidateBatch, Values
from porism.search.features.feature import Feature


class ConceptFeature(Feature):
    """BM25 of the terms that the query's concepts add, in one family."""

    def __init__(self, family: str) -> None:
        self.name = f"concepts.{family}"
        self.families = (family,)
        self._family = family

    def compute(self, batch: CandidateBatch) -> Values:
        """Return BM25 of the concepts' terms for each thread."""
        return batch.thread_scores(batch.context.concept_terms[self._family])

    def describe(self, batch: CandidateBatch) -> str:
        """Name the concepts."""
        matched = [match.concept for match in batch.context.concepts if match.family == self._family]
        return "; ".join(dict.fromkeys(f"“{one.display_name}” goes with ${one.latex}$" for one in matched))


FEATURES = tuple(ConceptFeature(family) for family in CONCEPT_FAMILIES)
