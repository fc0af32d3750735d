"""Scores by their definition, from the records of documents: what a store must return."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from porism.analysis.schema import FIELDS, View
from porism.store.conformance.subject import Subject
from porism.store.records import UNKNOWN, Floats, Hits, Term, Threads
from porism.store.weighting import BM25, LengthBias, TermCounts, ViewCounts, Weighting

TOLERANCE = 1e-6


class Documents:
    """The documents of a unit, as the records of all threads have them. Numbers are those that a search returns."""

    def __init__(self, subject: Subject, unit: str, families: Sequence[str]) -> None:
        self._subject = subject
        self._batch = subject.all_threads(families)
        self._posts = [list(range(start, end)) for start, end in _spans(self._batch)]
        self.numbers: list[int] = self._batch.numbers.tolist()
        if unit != "thread":
            posts = [post for own in self._posts for post in (own[:1] if unit == "question" else own[1:])]
            self._posts = [[post] for post in posts]
            self.numbers = self._batch.post_ids[np.array(posts, np.int64)].tolist()

    def counts(self, term: Term, view: View) -> Floats:
        """Return the weighted count of a term in every document."""
        key = int(self._subject.snapshot.statistics([term]).keys[0])
        if key == UNKNOWN:
            return np.zeros(len(self.numbers))
        rows, weights = self._batch.terms[term.family], np.array(view.vector(FIELDS))
        totals = np.zeros(len(self._batch.post_ids))
        for post, (start, end) in enumerate(zip(rows.starts.tolist(), rows.ends.tolist(), strict=True)):
            own = slice(start, end)
            same = rows.keys[own] == key
            totals[post] = float((weights[rows.fields[own][same]] * rows.counts[own][same]).sum())
        return np.array([totals[posts].sum() for posts in self._posts])

    def lengths(self, family: str, view: View) -> Floats:
        """Return the weighted length of every document."""
        totals = self._batch.terms[family].lengths @ np.array(view.vector(FIELDS))
        return np.array([totals[posts].sum() for posts in self._posts])

    def scores(self, terms: Sequence[Term], view: View, weighting: Weighting) -> dict[int, float]:
        """Return the score of each document that contains one of the terms, by its number."""
        found: dict[int, float] = {}
        for term in terms:
            counts, lengths = self.counts(term, view), self.lengths(term.family, view)
            having = np.flatnonzero(counts)
            about = TermCounts(len(having), float(counts.sum()), term.weight)
            values = _weigh(weighting, counts[having], lengths[having], about, ViewCounts(len(lengths), lengths.sum()))
            for at, value in zip(having.tolist(), values.tolist(), strict=True):
                found[at] = found.get(at, 0.0) + value
        if isinstance(weighting, LengthBias):
            for family in {term.family for term in terms}:
                total = sum(term.weight for term in terms if term.family == family)
                bias = weighting.bias(self.lengths(family, view), total)
                found = {at: score + float(bias[at]) for at, score in found.items()}
        return {self.numbers[at]: score for at, score in found.items()}


def _weigh(weighting: Weighting, counts: Floats, lengths: Floats, term: TermCounts, view: ViewCounts) -> Floats:
    """Return what a term adds to the scores of documents. BM25 is computed here as Robertson and Walker define it."""
    if not isinstance(weighting, BM25):
        return weighting.weigh(counts, lengths, term, view)
    idf = math.log(1 + (view.documents - term.documents + 0.5) / (term.documents + 0.5))
    k1, b = weighting.k1, weighting.b
    saturated = (k1 + 1) * counts / (counts + k1 * (1 - b + b * lengths / max(view.mean_length, 1e-9)))
    return np.asarray(term.query_weight * idf * saturated, np.float64)


def assert_scores(found: Hits, expected: dict[int, float], what: str) -> None:
    """Fail if hits are other documents than expected, have other scores, or are not in order."""
    assert set(found.numbers.tolist()) == set(expected), f"{what}: the hits are not the documents with one of the terms"
    assert len(found.numbers) == len(expected), f"{what}: a document is a hit twice"
    for number, score in zip(found.numbers.tolist(), found.scores.tolist(), strict=True):
        right = expected[number]
        assert abs(score - right) <= TOLERANCE * max(1.0, abs(right)), (
            f"{what}: the score of {number} is {score}, not {right}"
        )
    assert_ordered(found, what)


def assert_ordered(found: Hits, what: str) -> None:
    """Fail if hits are not in falling order of their scores."""
    assert (np.diff(found.scores) <= TOLERANCE).all(), f"{what}: the scores do not fall"


def _spans(batch: Threads) -> list[tuple[int, int]]:
    return list(zip(batch.starts.tolist(), batch.ends.tolist(), strict=True))
