"""Agreement of assessors, pair by pair and all together, and the items on which they differ."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from porism.lab.judging.agreement.coefficients import alpha, kappa, weighted_kappa
from porism.lab.judging.assessments import Assessment
from porism.lab.judging.scale import RELEVANT


class InstanceId(NamedTuple):
    """What two assessors may both have judged: an item of a topic, and the number of its card."""

    topic: str
    item: str
    instance: int


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """The agreement of two assessors on the items that both graded 0 to 3.

    `kappa` is four-way, `kappa_hm` is High or Medium against the rest, `kappa_weighted` is four-way with squared distances. `ungraded`
    counts the shared items for which one of them chose System failure or Do not know.
    """

    first: str
    second: str
    items: int
    kappa: float | None
    kappa_hm: float | None
    kappa_weighted: float | None
    ungraded: int = 0


class MeanAgreement(NamedTuple):
    """Mean kappas over pairs of assessors; None where no pair has one."""

    kappa: float | None
    kappa_hm: float | None
    kappa_weighted: float | None


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
            kappas = (kappa(graded), kappa(binary), weighted_kappa(graded))
            result.append(PairAgreement(a, b, len(graded), *kappas, len(shared) - len(graded)))
    return result


def mean_agreement(pairs: Iterable[PairAgreement], assessor: str = "") -> MeanAgreement:
    """Average the kappas over pairs (of one assessor, if named), without pooling items; skip undefined ones."""
    mine = [pair for pair in pairs if not assessor or assessor in (pair.first, pair.second)]
    columns = zip(*((pair.kappa, pair.kappa_hm, pair.kappa_weighted) for pair in mine), strict=True)
    means = [_mean(column) for column in columns] or [None] * 3
    return MeanAgreement(*means)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def overall_alpha(assessments: Iterable[Assessment]) -> float | None:
    """Return Krippendorff's alpha over all items that two or more assessors graded 0 to 3, however many assessors there are."""
    units: dict[InstanceId, list[int]] = {}
    for grades in _grades(assessments).values():
        for key, grade in grades.items():
            if grade <= 3:
                units.setdefault(key, []).append(grade)
    return alpha(units.values())


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
