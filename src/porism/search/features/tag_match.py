"""Tags that the query and the thread share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from porism.analysis.schema import EVERY_FIELD, TAG_FAMILY
from porism.search.features.feature import Feature
from porism.search.retrieval.context import CandidateBatch, QueryContext, Values
from porism.search.retrieval.term_scores import score_batch, view_table
from porism.store.weighting import BM25

PRESENCE = BM25(k1=0.0)  # without saturation a term adds its idf once


class TagMatch(Feature):
    """The sum of the inverse document frequencies of shared tags."""

    name = "tags"
    families = (TAG_FAMILY,)

    def reads(self, context: QueryContext) -> Sequence[str]:
        """Return the family of tags if the query has one."""
        return self.families if len(context.terms[TAG_FAMILY]) else ()

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the sum for each thread."""
        terms = batch.context.terms[TAG_FAMILY]
        if not len(terms):
            return np.zeros(batch.thread_count, np.float32)
        views = view_table(batch.context.index.snapshot.info, TAG_FAMILY, [EVERY_FIELD], PRESENCE)
        rows = batch.documents.terms[TAG_FAMILY]
        return np.asarray(score_batch(batch.documents, rows, terms.keys, terms.idf, views, views)[0][0])

    def describe(self, batch: CandidateBatch) -> str:
        """Return the feature in words."""
        return "same tags"


FEATURES = (TagMatch(),)
