"""Precision and recall at increasing depths, for curves."""

from __future__ import annotations

from typing import NamedTuple

from porism.evaluate.measures.definitions import precision, prime, recall
from porism.evaluate.qrels import Qrels, judged_only
from porism.evaluate.runs.run import Run

DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


class CurvePoint(NamedTuple):
    """The mean of a measure at one depth."""

    depth: int
    value: float


class _Graded(NamedTuple):
    """Grades down a ranking (None: unjudged), and all grades of the topic."""

    ranking: list[int | None]
    pool: list[int]


def precision_by_depth(run: Run, qrels: Qrels, level: int = 2) -> list[CurvePoint]:
    """Return the mean P' at each depth, over all topics of the qrels."""
    topics = _grades(run, qrels)
    means = (sum(precision(prime(one.ranking), depth, level) for one in topics) / len(topics) for depth in DEPTHS)
    return [CurvePoint(depth, mean) for depth, mean in zip(DEPTHS, means, strict=True)]


def recall_by_depth(run: Run, qrels: Qrels, level: int = 2) -> list[CurvePoint]:
    """Return the mean recall at each depth, over the topics with a relevant item. Unjudged hits keep their ranks."""
    topics = [one for one in _grades(run, qrels) if any(grade >= level for grade in one.pool)]
    means = (sum(recall(one.ranking, one.pool, depth, level) for one in topics) / len(topics) for depth in DEPTHS)
    return [CurvePoint(depth, mean) for depth, mean in zip(DEPTHS, means, strict=True)]


def _grades(run: Run, qrels: Qrels) -> list[_Graded]:
    found = []
    for topic, grades in judged_only(qrels).items():
        items = run.rankings[topic].in_score_order(DEPTHS[-1]).items if topic in run.rankings else []
        found.append(_Graded([grades.get(item) for item in items], list(grades.values())))
    return found
