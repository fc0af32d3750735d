"""The measures in plain Python, one function each, as the reference explains them.

Tables are computed by trec_eval's own code (see `score`); tests hold these definitions against it. `grades` are those of a ranked list,
None for an unjudged item; `pool` are all grades of the topic's judgments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Grades = Sequence[int | None]


def gain(grade: int | None) -> int:
    """An unjudged item gains nothing."""
    return max(grade or 0, 0)


def relevant(grade: int | None, level: int) -> bool:
    """Whether an item counts as relevant."""
    return grade is not None and grade >= level


def prime(grades: Grades) -> list[int]:
    """The prime filter: only judged items stay, in their order."""
    return [grade for grade in grades if grade is not None]


def dcg(grades: Grades, cut: int = 0) -> float:
    """Sum of grade / log2(place + 1)."""
    return sum(gain(grade) / math.log2(place + 1) for place, grade in enumerate(grades[: cut or None], 1))


def ndcg(grades: Grades, pool: Sequence[int], cut: int = 0) -> float:
    """DCG over that of the best order of all judged items. Järvelin and Kekäläinen, TOIS 2002; Sakai, SIGIR 2007 (prime).

    >>> round(ndcg([3, 0, 2], [3, 2, 0, 0]), 4)
    0.9386
    """
    best = dcg(sorted(pool, reverse=True), cut)
    return dcg(grades, cut) / best if best else 0.0


def average_precision(grades: Grades, pool: Sequence[int], level: int = 2, cut: int = 0) -> float:
    """Mean over all relevant items of the precision at their place; 0 for those not found. Its mean over topics is MAP.

    >>> average_precision([3, 0, 2], [3, 2, 0, 0])
    0.8333333333333333
    """
    total = sum(relevant(grade, level) for grade in pool)
    found, value = 0, 0.0
    for place, grade in enumerate(grades[: cut or None], 1):
        if relevant(grade, level):
            found += 1
            value += found / place
    return value / total if total else 0.0


def precision(grades: Grades, cut: int, level: int = 2) -> float:
    """Relevant items in the first `cut` places over `cut`; a short list is filled with non-relevant items.

    >>> precision([3, 0, 2], 10)
    0.2
    """
    return sum(relevant(grade, level) for grade in grades[:cut]) / cut


def recall(grades: Grades, pool: Sequence[int], cut: int, level: int = 2) -> float:
    """Relevant items in the first `cut` places over all relevant ones."""
    total = sum(relevant(grade, level) for grade in pool)
    return sum(relevant(grade, level) for grade in grades[:cut]) / total if total else 0.0


def success(grades: Grades, cut: int, level: int = 2) -> float:
    """1 if one of the first `cut` items is relevant."""
    return float(any(relevant(grade, level) for grade in grades[:cut]))


def reciprocal_rank(grades: Grades, level: int = 2) -> float:
    """1 over the place of the first relevant item; 0 without one."""
    return next((1 / place for place, grade in enumerate(grades, 1) if relevant(grade, level)), 0.0)


def r_precision(grades: Grades, pool: Sequence[int], level: int = 2) -> float:
    """Precision at R, the number of relevant items."""
    total = sum(relevant(grade, level) for grade in pool)
    return precision(grades, total, level) if total else 0.0


def bpref(grades: Grades, pool: Sequence[int], level: int = 2) -> float:
    """How rarely judged non-relevant items stand above relevant ones. Buckley and Voorhees, SIGIR 2004, as trec_eval computes it.

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

    A negative grade means pooled but not judged. On a list of judged items it equals average precision but for the small constant e.
    """
    total = sum(relevant(grade, level) for grade in pool)
    tiny, value = 0.00001, 0.0
    found = other = pooled = 0
    for place, grade in enumerate(grades, 1):
        if relevant(grade, level):
            above = place - 1
            here = 1.0
            if above:
                share = (found + tiny) / (found + other + 2 * tiny)
                here = 1 / place + (above / place) * ((found + other + pooled) / above) * share
            value += here
            found += 1
        elif grade is not None and grade >= 0:
            other += 1
        elif grade is not None:
            pooled += 1
    return value / total if total else 0.0


def judged(grades: Grades, cut: int) -> float:
    """Judged items in the first `cut` places over the items there are among them."""
    top = grades[:cut]
    return sum(grade is not None for grade in top) / len(top) if top else 0.0
