"""Pseudo-relevance feedback: terms that the best threads share count as further terms of the query."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from porism.index.protocols import Threads
from porism.index.schema import FIELDS, THREAD
from porism.index.storage.rows import FIELD_SHIFT, MOST_COUNT
from porism.index.weighting import BM25, saturation
from porism.search.answers.context import CandidateBatch, QueryContext, Values
from porism.search.answers.terms import QueryTerms
from porism.search.features.feature import Feature, Kind

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
BEST = 10  # threads that are assumed to be relevant
MOST_TERMS = {"words": 30, "tuples": 60}
WEIGHTING = BM25()
TEXTS = {"words": "words that the best hits share: {}", "tuples": "formulas like those of the best hits"}


class Feedback(Feature):
    """BM25 of the feedback terms of one family."""

    stage: ClassVar[int] = 2
    # It did not help to find answers to topics that it was not fitted on (docs/results).
    fitted_for: ClassVar[tuple[Kind, ...]] = ("questions",)

    def __init__(self, family: str) -> None:
        self.name = f"feedback.{family}"
        self.families = (family,)
        self._family = family

    def compute(self, batch: CandidateBatch) -> Values:
        """Return BM25 for each thread; 0 until there is feedback."""
        terms = batch.context.feedback.get(self._family)
        return np.zeros(batch.thread_count, np.float32) if terms is None else batch.thread_scores(terms)

    def describe(self, batch: CandidateBatch) -> str:
        """Name the strongest words."""
        terms = batch.context.feedback.get(self._family)
        named = () if terms is None else [text for text in terms.texts[:10] if text]
        return TEXTS[self._family].format(", ".join(named))


FEATURES = tuple(Feedback(family) for family in MOST_TERMS)


def feedback_terms(context: QueryContext, best: Threads) -> dict[str, QueryTerms]:
    """Return for each family the terms that weigh most in the best threads, with weights that sum to 1."""
    return {family: _feedback_terms(context, best, family) for family in MOST_TERMS}


def _feedback_terms(context: QueryContext, best: Threads, family: str) -> QueryTerms:
    rows, field_weights = best.terms[family], np.array(THREAD.vector(FIELDS))
    mean = max(context.index.terms.count(family, THREAD).mean_length, 1e-9)
    codes, strengths = [], []
    for start, end in zip(best.starts[:BEST].tolist(), best.ends[:BEST].tolist(), strict=True):
        entries = np.concatenate([np.arange(rows.starts[post], rows.ends[post]) for post in range(start, end)])
        cells = rows.cells[entries]
        own, place = np.unique(rows.codes[entries], return_inverse=True)
        counts = np.bincount(place, field_weights[cells >> FIELD_SHIFT] * (cells & MOST_COUNT), len(own))
        length = float((rows.lengths[start:end] @ field_weights).sum())
        codes.append(own.astype(np.int64))
        strengths.append(saturation(counts, length, mean, WEIGHTING.k1, WEIGHTING.b))
    return _heaviest(context, family, codes, strengths)


def _heaviest(context: QueryContext, family: str, codes: list[Ints], strengths: list[Floats]) -> QueryTerms:
    """Return the terms that sum to most over the threads; a term of a single thread is not what they share."""
    empty = QueryTerms(family, np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.float32), (), ())
    if not codes or not sum(map(len, codes)):
        return empty
    found, place = np.unique(np.concatenate(codes), return_inverse=True)
    shared = np.bincount(place, minlength=len(found)) >= min(2, len(codes))
    sums = np.bincount(place, np.concatenate(strengths), len(found)) * shared
    shortlist = np.argsort(-sums, kind="stable")[: 10 * MOST_TERMS[family]]
    weight = sums[shortlist] * context.idf(family, found[shortlist])
    top = np.argsort(-weight, kind="stable")[: MOST_TERMS[family]]
    shares = (weight[top] / max(float(weight[top].sum()), 1e-9)).astype(np.float32)
    kept = found[shortlist[top]]
    order = np.argsort(kept, kind="stable")
    texts = tuple(context.index.terms.texts(family, kept[order]))
    return QueryTerms(family, kept[order], shares[order], context.idf(family, kept[order]), texts, (-1,) * len(kept))
