"""Concepts: formulas that go with a name in the query, and names that go with a formula in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from porism.search.features.feature import Feature
from porism.search.retrieval.context import CandidateBatch, QueryContext, Values
from porism.search.retrieval.query_terms import CONCEPT_FAMILIES


class ConceptFeature(Feature):
    """BM25 of the terms that the query's concepts add, in one family."""

    # Topics with judgments are long, so they say little about short queries, in which a name alone should find its
    # formula.
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


FEATURES = tuple(ConceptFeature(family) for family in CONCEPT_FAMILIES)
