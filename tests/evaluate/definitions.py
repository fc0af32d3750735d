"""The measures in plain Python, one function each, as the reference explains them."""

from __future__ import annotations

import math
from collections.abc import Sequence

Grades = Sequence[int | None]


def gain(grade: int | None) -> int:
    """Return the gain of an item; an unjudged item gains nothing."""
    return max(grade or 0, 0)


def relevant(grade: int | None, level: int) -> bool:
    """Return whether an item counts as relevant."""
    return grade is not None and grade >= level


def prime(grades: Grades) -> list[int]:
    """Apply the prime filter: keep judged items only, in their order."""
    return [grade for grade in grades if grade is not None]


def dcg(grades: Grades, cut: int = 0) -> float:
    """Discounted cumulative gain: the sum of grade / log2(rank + 1)."""
    return sum(gain(grade) / math.log2(rank + 1) for rank, grade in enumerate(grades[: cut or None], 1))


def ndcg(grades: Grades, pool: Sequence[int], cut: int = 0) -> float:
    """DCG divided by the DCG of the best order of all judged items. Järvelin and Kekäläinen, TOIS 2002; Sakai, SIGIR
    2007 (prime).

    >>> round(ndcg([3, 0, 2], [3, 2, 0, 0]), 4)
    0.9386
    """
    best = dcg(sorted(pool, reverse=True), cut)
    return dcg(grades, cut) / best if best else 0.0


def average_precision(grades: Grades, pool: Sequence[int], level: int = 2, cut: int = 0) -> float:
    """Mean precision at the ranks of the relevant items, 0 for those not found. Its mean over topics is MAP.

    >>> average_precision([3, 0, 2], [3, 2, 0, 0])
    0.8333333333333333
    """
    total = sum(relevant(grade, level) for grade in pool)
    found, value = 0, 0.0
    for rank, grade in enumerate(grades[: cut or None], 1):
        if relevant(grade, level):
            found += 1
            value += found / rank
    return value / total if total else 0.0


def precision(grades: Grades, cut: int, level: int = 2) -> float:
    """Share of relevant items among the first `cut`; a shorter ranking counts as filled with non-relevant items.

    >>> precision([3, 0, 2], 10)
    0.2
    """
    return sum(relevant(grade, level) for grade in grades[:cut]) / cut


def recall(grades: Grades, pool: Sequence[int], cut: int, level: int = 2) -> float:
    """Share of all relevant items that are among the first `cut`."""
    total = sum(relevant(grade, level) for grade in pool)
    return sum(relevant(grade, level) for grade in grades[:cut]) / total if total else 0.0


def success(grades: Grades, cut: int, level: int = 2) -> float:
    """1 if one of the first `cut` items is relevant, else 0."""
    return float(any(relevant(grade, level) for grade in grades[:cut]))


def reciprocal_rank(grades: Grades, level: int = 2) -> float:
    """1 divided by the rank of the first relevant item; 0 without one."""
    return next((1 / rank for rank, grade in enumerate(grades, 1) if relevant(grade, level)), 0.0)


def r_precision(grades: Grades, pool: Sequence[int], level: int = 2) -> float:
    """Precision at R, the number of relevant items."""
    total = sum(relevant(grade, level) for grade in pool)
    return precision(grades, total, level) if total else 0.0


def bpref(grades: Grades, pool: Sequence[int], level: int = 2) -> float:
    """How rarely judged non-relevant items are ranked above relevant ones. Buckley and Voorhees, SIGIR 2004, as
    trec_eval computes it.

    >>> bpref([3, 0, 2], [3, 2, 0, 0])
    0.75
    """
    total = sum(relevant(grade, level) for grade in pool)
    other = sum(0 <= grade < level for grade in pool)
    above, value = 0, 0.0
    for grade in grades:
        if relevant(grade, level):
            value += 1 - min(above, total) / min(other, total) if above else 1.0
        elif grade is not None and grade >= 0:
            above += 1
    return value / total if total else 0.0


def inferred_ap(grades: Grades, pool: Sequence[int], level: int = 2) -> float:
    """Average precision estimated from a sampled pool. Yilmaz and Aslam, CIKM 2006, as trec_eval computes it.

    A negative grade means pooled but not judged. If all items are judged, it equals average precision up to a small
    constant.
    """
    total = sum(relevant(grade, level) for grade in pool)
    tiny, value = 0.00001, 0.0
    found = other = pooled = 0
    for rank, grade in enumerate(grades, 1):
        if relevant(grade, level):
            above = rank - 1
            here = 1.0
            if above:
                share = (found + tiny) / (found + other + 2 * tiny)
                here = 1 / rank + (above / rank) * ((found + other + pooled) / above) * share
            value += here
            found += 1
        elif grade is not None and grade >= 0:
            other += 1
        elif grade is not None:
            pooled += 1
    return value / total if total else 0.0


def judged(grades: Grades, cut: int) -> float:
    """Share of judged items among the first `cut` (of those that the ranking has)."""
    top = grades[:cut]
    return sum(grade is not None for grade in top) / len(top) if top else 0.0
