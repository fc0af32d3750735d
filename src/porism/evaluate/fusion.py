"""Fuse several rankings of one topic into one: RRF, score-weighted RRF, CombSUM, CombMNZ, convex combination.

Pure arithmetic over arrays. `porism.evaluate.runs.derive` applies it to run files, search applies it to candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
RRF_K = 60.0


class ScoredIds(NamedTuple):
    """A ranking: distinct ids, best first, and their scores."""

    ids: Ids
    scores: Scores


Weights = Sequence[float] | None
Fusion = Callable[[Sequence[ScoredIds], Weights, float], ScoredIds]


def rrf(rankings: Sequence[ScoredIds], weights: Weights = None, k: float = RRF_K) -> ScoredIds:
    """Sum 1 / (k + rank). Cormack, Clarke and Büttcher, SIGIR 2009."""
    return _fuse(rankings, [1.0 / (k + _ranks(ranking)) for ranking in rankings], weights)


def score_rrf(rankings: Sequence[ScoredIds], weights: Weights = None, k: float = RRF_K) -> ScoredIds:
    """Sum score / (k + rank), the scores as they are."""
    return _fuse(rankings, [ranking.scores / (k + _ranks(ranking)) for ranking in rankings], weights)


def comb_sum(rankings: Sequence[ScoredIds], weights: Weights = None, k: float = RRF_K) -> ScoredIds:
    """Sum the scores, each ranking scaled to 0..1; `k` is not used. Fox and Shaw, TREC-2, 1994."""
    return _fuse(rankings, [_min_max(ranking.scores) for ranking in rankings], weights)


def comb_mnz(rankings: Sequence[ScoredIds], weights: Weights = None, k: float = RRF_K) -> ScoredIds:
    """Multiply CombSUM by the number of rankings that hold the id; `k` is not used. Fox and Shaw, TREC-2, 1994."""
    return _fuse(rankings, [_min_max(ranking.scores) for ranking in rankings], weights, times_rankings=True)


def convex(rankings: Sequence[ScoredIds], weights: Weights = None, k: float = RRF_K) -> ScoredIds:
    """Average the scores, each ranking scaled to 0..1, with weights that sum to 1; `k` is not used."""
    given = [1.0] * len(rankings) if weights is None else weights
    return comb_sum(rankings, [weight / sum(given) for weight in given])


def weighted_sum(rankings: Sequence[ScoredIds], weights: Weights = None, if_equal: float | None = None) -> ScoredIds:
    """Sum the scores, each ranking scaled to 0..1; equal scores become `if_equal`, or stay as they are with None."""
    points = [_min_max(ranking.scores, ranking.scores if if_equal is None else if_equal) for ranking in rankings]
    return _plain_sum(rankings, points, weights)


def raw_sum(rankings: Sequence[ScoredIds], weights: Weights = None) -> ScoredIds:
    """Sum the scores as they are."""
    return _plain_sum(rankings, [ranking.scores for ranking in rankings], weights)


FUSIONS: dict[str, Fusion] = {
    "rrf": rrf,
    "score-rrf": score_rrf,
    "convex": convex,
    "combsum": comb_sum,
    "combmnz": comb_mnz,
}


def _ranks(ranking: ScoredIds) -> Scores:
    return np.arange(1, len(ranking.ids) + 1, dtype=np.float64)


def _min_max(scores: Scores, if_equal: float | Scores = 1.0) -> Scores:
    """Scale scores to 0..1 by the lowest and the highest; equal scores become `if_equal`."""
    if not len(scores) or scores.max() == scores.min():
        return np.broadcast_to(np.asarray(if_equal, np.float64), len(scores))
    scaled: Scores = (scores - scores.min()) / (scores.max() - scores.min())
    return scaled


def _fuse(
    rankings: Sequence[ScoredIds], points: Sequence[Scores], weights: Weights, times_rankings: bool = False
) -> ScoredIds:
    """Sum the weighted points of each id. Highest sums first; equal sums by ascending id."""
    if not any(len(ranking.ids) for ranking in rankings):
        return ScoredIds(np.empty(0, np.int64), np.empty(0))
    ids, position = np.unique(np.concatenate([ranking.ids for ranking in rankings]), return_inverse=True)
    sums, errors, holders = np.zeros(len(ids)), np.zeros(len(ids)), np.zeros(len(ids))
    start = 0
    for number, values in enumerate(points):
        rows = position[start : start + len(values)]
        start += len(values)
        added = values if weights is None else weights[number] * values
        # Two-sum: what a sum loses to rounding is kept apart, so that the order of the rankings cannot show in the last
        # digit.
        old, new = sums[rows], sums[rows] + added
        share = new - old
        errors[rows] += (old - (new - share)) + (added - share)
        sums[rows] = new
        holders[rows] += 1
    totals = (sums + errors) * holders if times_rankings else sums + errors
    order = np.lexsort((ids, -totals))
    return ScoredIds(ids[order], totals[order])


def _plain_sum(rankings: Sequence[ScoredIds], points: Sequence[Scores], weights: Weights) -> ScoredIds:
    """Sum the weighted points of each id without keeping what is lost to rounding, as the original programs do."""
    ids, position = np.unique(np.concatenate([one.ids for one in rankings]), return_inverse=True)
    sums = np.zeros(len(ids))
    start = 0
    for number, values in enumerate(points):
        sums[position[start : start + len(values)]] += values if weights is None else weights[number] * values
        start += len(values)
    order = np.argsort(-sums, kind="stable")
    return ScoredIds(ids[order], sums[order])
