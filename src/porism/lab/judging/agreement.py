"""Agreement of assessors: Cohen's kappa, four-way and with High or Medium (H+M) against the rest."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from porism.lab.judging.assessments import Assessment
from porism.lab.judging.scale import RELEVANT


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
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    same = sum(a == b for a, b in pairs)
    # n * n * pe as a whole number, so that pe = 1 is recognised exactly.
    expected = sum(first.count(label) * second.count(label) for label in {*first, *second})
    if expected == n * n:
        return 1.0
    return (n * same - expected) / (n * n - expected)


class InstanceId(NamedTuple):
    """What two assessors may both have judged: an item of a topic, and the number of its card."""

    topic: str
    item: str
    instance: int


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """The agreement of two assessors on the items that both graded 0 to 3.

    `kappa` is four-way, `kappa_hm` is High or Medium against the rest. `ungraded` counts the shared items for which one
    of them chose System failure or Do not know.
    """

    first: str
    second: str
    items: int
    kappa: float | None
    kappa_hm: float | None
    ungraded: int = 0


class MeanAgreement(NamedTuple):
    """Mean kappas over pairs of assessors; None where no pair has one."""

    kappa: float | None
    kappa_hm: float | None


def _grades(assessments: Iterable[Assessment]) -> dict[str, dict[InstanceId, int]]:
    """Return the grades of each assessor."""
    table: dict[str, dict[InstanceId, int]] = {}
    for given in assessments:
        table.setdefault(given.assessor, {})[InstanceId(given.topic, given.item, given.instance)] = given.grade
    return table


def pair_agreements(assessments: Iterable[Assessment]) -> list[PairAgreement]:
    """Return the agreement of every pair of assessors who share items."""
    table = _grades(assessments)
    result = []
    for a, b in itertools.combinations(sorted(table), 2):
        shared = sorted(table[a].keys() & table[b].keys())
        graded = [(table[a][key], table[b][key]) for key in shared if max(table[a][key], table[b][key]) <= 3]
        if shared:
            binary = [(x >= RELEVANT, y >= RELEVANT) for x, y in graded]
            result.append(PairAgreement(a, b, len(graded), kappa(graded), kappa(binary), len(shared) - len(graded)))
    return result


def mean_agreement(pairs: Iterable[PairAgreement], assessor: str = "") -> MeanAgreement:
    """Average the kappas over pairs (of one assessor, if named), without pooling items; skip undefined ones."""
    mine = [pair for pair in pairs if not assessor or assessor in (pair.first, pair.second)]
    four_way = [pair.kappa for pair in mine if pair.kappa is not None]
    binary = [pair.kappa_hm for pair in mine if pair.kappa_hm is not None]
    return MeanAgreement(statistics.fmean(four_way) if four_way else None, statistics.fmean(binary) if binary else None)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item that got different grades, with the assessments."""

    topic: str
    item: str
    instance: int
    opinions: tuple[Assessment, ...]

    @property
    def spread(self) -> int:
        """The distance between the highest and the lowest grade; codes count as one step beyond High."""
        grades = [min(opinion.grade, 4) for opinion in self.opinions]
        return max(grades) - min(grades)


def disagreements(assessments: Iterable[Assessment]) -> list[Disagreement]:
    """Return the items on which assessors differ, the largest spread first."""
    groups: dict[InstanceId, dict[str, Assessment]] = {}
    for given in assessments:
        groups.setdefault(InstanceId(given.topic, given.item, given.instance), {})[given.assessor] = given
    found = [
        Disagreement(*key, tuple(by_name[name] for name in sorted(by_name)))
        for key, by_name in groups.items()
        if len({given.grade for given in by_name.values()}) > 1
    ]
    return sorted(found, key=lambda d: (-d.spread, d.topic, d.item, d.instance))
