"""Precision and recall down the list: the numbers behind the curves."""

from __future__ import annotations

from porism.evaluate.measures.definitions import precision, prime, recall
from porism.evaluate.qrels import Qrels, judged
from porism.evaluate.runs.run import Run

DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def precision_by_depth(run: Run, qrels: Qrels, level: int = 2) -> list[tuple[int, float]]:
    """Mean P' at each depth over all topics of the qrels."""
    rows = graded(run, qrels)
    return [(depth, sum(precision(prime(row), depth, level) for row, _ in rows) / len(rows)) for depth in DEPTHS]


def recall_by_depth(run: Run, qrels: Qrels, level: int = 2) -> list[tuple[int, float]]:
    """Mean recall at each depth (unjudged items keep their places) over the topics with a relevant item."""
    rows = [(row, pool) for row, pool in graded(run, qrels) if any(grade >= level for grade in pool)]
    return [(depth, sum(recall(row, pool, depth, level) for row, pool in rows) / len(rows)) for depth in DEPTHS]


def graded(run: Run, qrels: Qrels) -> list[tuple[list[int | None], list[int]]]:
    """For each topic of the qrels: the grades down the list, and all grades."""
    found = []
    for topic, grades in judged(qrels).items():
        order = run.rankings[topic].pairs(DEPTHS[-1]) if topic in run.rankings else []
        found.append(([grades.get(item) for item, _ in order], list(grades.values())))
    return found
