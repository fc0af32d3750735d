"""Pseudo-relevance feedback: terms that the best threads share count as further terms of the query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FIELDS, THREAD
from porism.search.features.feature import Feature, RankingSoFar
from porism.search.query import Kind
from porism.search.retrieval.context import CandidateBatch, QueryContext, Values
from porism.search.retrieval.query_terms import QueryTerms
from porism.search.retrieval.term_scores import span_positions
from porism.store.records import TermLookup, Threads

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
BEST = 20  # threads that are assumed to be relevant
MOST_TERMS = {"words": 60, "tuples": 120}
TERM_BITS = 32
NAMING = ("name.title", "name.defined", "title.identity")
NAMED = 0.5  # of the best match: from this value of these features on, a thread is what the query names
FEEDBACK = "feedback"
TEXTS = {"words": "words that the best hits share: {}", "tuples": "formulas like those of the best hits"}


class Feedback(Feature):
    """Scores of the feedback terms of one family."""

    stage: ClassVar[int] = 2
    prepares: ClassVar[str] = FEEDBACK
    # It did not help to find answers to topics of both years that it was not fitted on (docs/results).
    fitted_for: tuple[Kind, ...] = ("questions",)

    def __init__(self, family: str) -> None:
        self.name = f"feedback.{family}"
        self.families = (family,)
        self._family = family

    def prepare(self, batch: CandidateBatch, so_far: RankingSoFar) -> dict[str, QueryTerms]:
        """Return the terms of the best threads by family; none if the query does not need them."""
        if not needs_feedback(batch, so_far.values):
            return {}
        return feedback_terms(batch.context, batch.documents, so_far.best_threads("questions", BEST))

    def compute(self, batch: CandidateBatch) -> Values:
        """Return BM25 for each thread; 0 until there is feedback."""
        terms = self._terms(batch)
        return np.zeros(batch.thread_count, np.float32) if terms is None else batch.thread_scores(terms)

    def _terms(self, batch: CandidateBatch) -> QueryTerms | None:
        terms: dict[str, QueryTerms] = batch.context.prepared.get(FEEDBACK, {})
        return terms.get(self._family)

    def describe(self, batch: CandidateBatch) -> str:
        """Name the strongest words."""
        terms = self._terms(batch)
        named = () if terms is None else [text for text in terms.strongest(10).texts if text]
        return TEXTS[self._family].format(", ".join(named))


FEATURES = tuple(Feedback(family) for family in MOST_TERMS)


def needs_feedback(batch: CandidateBatch, values: Mapping[str, Values]) -> bool:
    """Return whether feedback is safe: threads with answers say the same in many words, and no thread is what the query
    names. Among documents, of which each says one thing, the words of its neighbours lead away from the right one
    (docs/why/ranking.md)."""
    named = any(values[name].max(initial=0.0) >= NAMED * batch.context.best_match for name in NAMING if name in values)
    return batch.context.index.is_forum and not named


def feedback_terms(context: QueryContext, documents: Threads, best: Ints) -> dict[str, QueryTerms]:
    """Return the terms of each family that weigh most in the best threads of a batch; the weights sum to 1."""
    return {family: _feedback_terms(context, documents, best, family) for family in MOST_TERMS}


def _feedback_terms(context: QueryContext, documents: Threads, best: Ints, family: str) -> QueryTerms:
    """Return the terms with the largest sum of strengths over the threads, of those that more than one thread has."""
    rows, field_weights = documents.terms[family], np.array(THREAD.vector(FIELDS))
    posts = span_positions(documents.starts[best], documents.ends[best])
    thread_of_post = np.repeat(np.arange(len(best)), documents.ends[best] - documents.starts[best])
    entries = span_positions(rows.starts[posts], rows.ends[posts])
    threads = np.repeat(thread_of_post, rows.ends[posts] - rows.starts[posts])
    distinct, local = np.unique(rows.keys[entries], return_inverse=True)
    # An integer identifies a thread and a term, so that equal pairs are counted together.
    pairs, place = np.unique((threads << TERM_BITS) | local, return_inverse=True)
    counts = np.bincount(place, field_weights[rows.fields[entries]] * rows.counts[entries], len(pairs))
    lengths = np.bincount(thread_of_post, rows.lengths[posts] @ field_weights, len(best))[pairs >> TERM_BITS]
    mean = max(context.index.snapshot.info.lengths(family, THREAD).mean_length, 1e-9)
    strengths = context.weighting.strength(np.asarray(counts, np.float64), lengths, mean)
    numbers, place = np.unique(pairs & ((1 << TERM_BITS) - 1), return_inverse=True)
    keys = distinct[numbers].astype(np.int64)
    shared = np.bincount(place, minlength=len(keys)) >= min(2, len(best))
    sums = np.asarray(np.bincount(place, strengths, len(keys)), np.float64)
    return _heaviest(context, documents.lookup, family, keys[shared], sums[shared])


def _heaviest(context: QueryContext, lookup: TermLookup, family: str, keys: Ints, sums: Floats) -> QueryTerms:
    """Return the terms with the largest sum x idf, with weights that sum to 1."""
    shortlist = np.argsort(-sums, kind="stable")[: 10 * MOST_TERMS[family]]
    weight = sums[shortlist] * context.idf(lookup.documents(family, keys[shortlist]))
    top = np.argsort(-weight, kind="stable")[: MOST_TERMS[family]]
    shares = (weight[top] / max(float(weight[top].sum()), 1e-9)).astype(np.float32)
    order = np.argsort(keys[shortlist[top]], kind="stable")
    kept = keys[shortlist[top]][order]
    documents, texts = lookup.documents(family, kept), tuple(lookup.texts(family, kept))
    return QueryTerms(family, kept, documents, shares[order], context.idf(documents), texts, (-1,) * len(kept))
