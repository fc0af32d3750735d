"""Coefficients of agreement: Cohen's kappa, his weighted kappa, and Krippendorff's alpha for ordered grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Return Cohen's unweighted kappa of pairs of labels: (po - pe) / (1 - pe), with pe from the two marginals.

    Two assessors who both gave one and the same label throughout agree fully (1). Without any pair, kappa is undefined
    (None).

    Cohen, A coefficient of agreement for nominal scales, 1960. Of 50 pairs with 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no:

    >>> kappa([("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15)
    0.4
    """
    n = len(pairs)
    if n == 0:
        return None
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    same = sum(a == b for a, b in pairs)
    # n * n * pe as a whole number, so that pe = 1 is recognised exactly.
    expected = sum(count * second[label] for label, count in first.items())
    if expected == n * n:
        return 1.0
    return (n * same - expected) / (n * n - expected)


def weighted_kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Return Cohen's kappa with squared distances: 1 - (observed disagreement / expected disagreement).

    A grade that is two steps away weighs four times as much as one that is one step away. Undefined (None) without pairs; 1 if both gave
    one and the same grade throughout.

    Cohen, Weighted kappa, 1968.

    >>> round(weighted_kappa([(0, 0), (1, 1), (2, 3), (3, 3), (0, 1)]), 4)
    0.8649
    """
    n = len(pairs)
    if n == 0:
        return None
    observed = n * sum((a - b) ** 2 for a, b in pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(x * y * (a - b) ** 2 for a, x in first.items() for b, y in second.items())
    return 1.0 if expected == 0 else 1 - observed / expected


def alpha(units: Iterable[Sequence[int]]) -> float | None:
    """Return Krippendorff's alpha for ordered grades. A unit is the grades that one item got, from any number of assessors.

    Units with fewer than two grades do not count. Undefined (None) without any other; 1 if all grades are the same.

    Krippendorff, Computing Krippendorff's alpha-reliability, 2011. The distance of two grades is the squared number of grades given between
    them, half of those at both ends.

    >>> round(alpha([(1, 1), (2, 2), (3, 3), (1, 2)]), 4)
    0.79
    """
    pairable = [grades for grades in units if len(grades) > 1]
    totals = Counter(grade for grades in pairable for grade in grades)
    if not totals:
        return None
    rank, below = {}, 0.0
    for grade in sorted(totals):
        rank[grade] = below + totals[grade] / 2
        below += totals[grade]
    observed = sum(
        sum((rank[a] - rank[b]) ** 2 for a in grades for b in grades) / (len(grades) - 1) for grades in pairable
    )
    expected = sum(x * y * (rank[a] - rank[b]) ** 2 for a, x in totals.items() for b, y in totals.items())
    return 1.0 if expected == 0 else 1 - (totals.total() - 1) * observed / expected
