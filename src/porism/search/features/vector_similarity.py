"""Cosine similarity of vectors that latent semantic analysis learned from the collection."""

from __future__ import annotations

import numpy as np

from porism.analysis.schema import FORMULA_FAMILIES
from porism.search.features.feature import KINDS, Feature
from porism.search.retrieval.context import CandidateBatch, Values

TEXTS = {"words": "about a similar subject", "tuples": "its formulas have a similar structure"}


class VectorSimilarity(Feature):
    """The cosine of the query's and the thread's vector in one family."""

    def __init__(self, family: str) -> None:
        self.name = f"vectors.{family}"
        self.vectors = (family,)
        # Vectors of formulas did not help to find questions that they were not fitted on (docs/results).
        self.fitted_for = KINDS if family == "words" else ("answers",)
        self.of_formulas = family in FORMULA_FAMILIES
        self._family = family

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the cosine for each thread; 0 in an index without vectors."""
        if self._family not in batch.documents.vectors:
            return np.zeros(batch.thread_count, np.float32)
        return np.asarray(batch.documents.vectors[self._family] @ batch.context.query_vector(self._family), np.float32)

    def describe(self, batch: CandidateBatch) -> str:
        """Return the feature in words."""
        return TEXTS[self._family]


FEATURES = (VectorSimilarity("words"), VectorSimilarity("tuples"))
