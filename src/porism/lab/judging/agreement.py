"""How well assessors agree: Cohen's kappa, four-way and with H+M against the rest."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from porism.lab.judging.assessment import Assessment
from porism.lab.judging.scale import RELEVANT


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Cohen's kappa of pairs of labels, unweighted: (po - pe) / (1 - pe), pe from the two marginals.

    Two assessors who always gave the one and same label agree fully (1); without any pair it is undefined (None).

    Cohen, A coefficient of agreement for nominal scales, 1960. Of 50 pairs with 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no:

    >>> kappa([("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15)
    0.4
    """
    n = len(pairs)
    if n == 0:
        return None
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    same = sum(a == b for a, b in pairs)
    # n * n * pe, kept whole: pe = 1 must be seen exactly.
    expected = sum(first.count(label) * second.count(label) for label in {*first, *second})
    if expected == n * n:
        return 1.0
    return (n * same - expected) / (n * n - expected)


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two assessors on the items both graded 0 to 3. `coded` counts items where one said failure or do not know."""

    first: str
    second: str
    items: int
    four: float | None
    binary: float | None
    coded: int = 0


def _grades(assessments: Iterable[Assessment]) -> dict[str, dict[tuple[str, str, int], int]]:
    """assessor -> (topic, item, instance) -> grade."""
    table: dict[str, dict[tuple[str, str, int], int]] = {}
    for one in assessments:
        table.setdefault(one.assessor, {})[one.topic, one.item, one.instance] = one.grade
    return table


def pair_agreements(assessments: Iterable[Assessment]) -> list[PairAgreement]:
    """Kappa of every pair of assessors who share items."""
    table = _grades(assessments)
    result = []
    for a, b in itertools.combinations(sorted(table), 2):
        shared = sorted(table[a].keys() & table[b].keys())
        graded = [(table[a][key], table[b][key]) for key in shared if max(table[a][key], table[b][key]) <= 3]
        if shared:
            binary = [(x >= RELEVANT, y >= RELEVANT) for x, y in graded]
            result.append(PairAgreement(a, b, len(graded), kappa(graded), kappa(binary), len(shared) - len(graded)))
    return result


def mean_agreement(pairs: Iterable[PairAgreement], assessor: str = "") -> tuple[float | None, float | None]:
    """Mean four-way and H+M kappa over pairs (of one assessor, if named): averaged, not pooled; undefined ones left out."""
    mine = [pair for pair in pairs if not assessor or assessor in (pair.first, pair.second)]
    four = [pair.four for pair in mine if pair.four is not None]
    binary = [pair.binary for pair in mine if pair.binary is not None]
    return (statistics.fmean(four) if four else None, statistics.fmean(binary) if binary else None)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item that got different grades, with who said what and why."""

    topic: str
    item: str
    instance: int
    opinions: tuple[Assessment, ...]

    @property
    def spread(self) -> int:
        """Distance between the highest and the lowest grade; codes count as one step beyond."""
        grades = [min(opinion.grade, 4) for opinion in self.opinions]
        return max(grades) - min(grades)


def disagreements(assessments: Iterable[Assessment]) -> list[Disagreement]:
    """Items on which assessors differ, the widest apart first."""
    groups: dict[tuple[str, str, int], dict[str, Assessment]] = {}
    for one in assessments:
        groups.setdefault((one.topic, one.item, one.instance), {})[one.assessor] = one
    found = [
        Disagreement(*key, tuple(by_name[name] for name in sorted(by_name)))
        for key, by_name in groups.items()
        if len({one.grade for one in by_name.values()}) > 1
    ]
    return sorted(found, key=lambda d: (-d.spread, d.topic, d.item, d.instance))


def confusion(assessments: Iterable[Assessment], first: str, second: str) -> Mapping[tuple[int, int], int]:
    """How often `first` gave one grade where `second` gave another."""
    table = _grades(assessments)
    counts: dict[tuple[int, int], int] = {}
    for key in table.get(first, {}).keys() & table.get(second, {}).keys():
        pair = (table[first][key], table[second][key])
        counts[pair] = counts.get(pair, 0) + 1
    return dict(sorted(counts.items()))
