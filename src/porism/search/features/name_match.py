"""Names: is the whole query the title of the thread, or a term that its question defines?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from porism.analysis.schema import NAME_FAMILY, View
from porism.search.features.feature import Feature, Kind
from porism.search.retrieval.context import CandidateBatch, QueryContext, Values
from porism.search.retrieval.term_scores import score_batch, view_table
from porism.store.weighting import BM25

PRESENCE = BM25(k1=0.0)  # a name counts once
TEXTS = {"title": "the title is exactly your query", "question": "defines what you search for"}


class NameMatch(Feature):
    """For a thread one of whose names, in one field, is the query, as much as the best match of the words: so it weighs
    the same in a collection of any size."""

    families = (NAME_FAMILY,)
    unit_of = "thread.words"
    fitted_for: tuple[Kind, ...] = ("questions",)

    def __init__(self, name: str, field: str) -> None:
        self.name = f"name.{name}"
        self._field = field

    def reads(self, context: QueryContext) -> Sequence[str]:
        """Return the family of names, and that of words, if the index knows the query as a name."""
        return (NAME_FAMILY, "words") if len(context.terms[NAME_FAMILY]) else ()

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the best match for each thread with the name."""
        terms = batch.context.terms[NAME_FAMILY]
        if not len(terms):
            return np.zeros(batch.thread_count, np.float32)
        views = view_table(
            batch.context.index.snapshot.info, NAME_FAMILY, [View("thread", ((self._field, 1.0),))], PRESENCE
        )
        rows, ones = batch.documents.terms[NAME_FAMILY], np.ones(len(terms), np.float32)
        found = score_batch(batch.documents, rows, terms.keys, ones, views, views)[0][0]
        return np.where(found > 0, np.float32(batch.context.best_match), np.float32(0.0))

    def describe(self, batch: CandidateBatch) -> str:
        """Return the feature in words."""
        return TEXTS[self._field]


FEATURES = (NameMatch("title", "title"), NameMatch("defined", "question"))
