"""Pseudo-relevance feedback: the terms that the best threads have in common ask once more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from porism.index.threads.posts import Posts
from porism.search.answers.asked import Asked, keep
from porism.search.answers.scoring import K1, B, idf

FEEDBACK_FAMILIES = ("words", "tuples")
BEST = 10  # threads believed to be good
MOST = {"words": 30, "tuples": 60}


def expand(best: npt.NDArray[np.int64], posts: Posts) -> dict[str, Asked]:
    """For each family the terms that weigh most in the best threads, with weights that sum to 1."""
    return {family: _typical(best[:BEST], family, posts) for family in FEEDBACK_FAMILIES}


def _typical(best: npt.NDArray[np.int64], family: str, posts: Posts) -> Asked:
    rows = posts.rows["thread", family]
    found = [rows.row(int(number)) for number in best]
    if not found:
        empty = np.empty(0, np.uint32)
        return Asked(empty, np.empty(0, np.float32), np.empty(0, np.float32), ())
    codes, place = np.unique(np.concatenate([one for one, _ in found]), return_inverse=True)
    # A term that one thread alone has says nothing of what they share.
    common = np.bincount(place) >= min(2, len(found))
    strength = np.concatenate(
        [
            (K1 + 1) * counts / (counts + K1 * (1 - B + B * float(rows.lengths[number]) / rows.mean))
            for number, (_, counts) in zip(best.tolist(), found, strict=True)
        ]
    )
    weight = np.bincount(place, strength, len(codes))
    shortlist = np.argsort(-weight * common, kind="stable")[: 10 * MOST[family]]
    frequency = np.array([posts.document_frequency(family, number) for number in codes[shortlist].tolist()], np.float64)
    power = weight[shortlist] * common[shortlist] * idf(len(posts.question_ids), frequency)
    top = shortlist[np.argsort(-power, kind="stable")[: MOST[family]]]
    shares = np.sort(power)[::-1][: len(top)]
    weights = (shares / max(float(shares.sum()), 1e-9)).astype(np.float32)
    return keep(family, codes[top], weights, [(posts.name(number), -1) for number in codes[top].tolist()], posts)
