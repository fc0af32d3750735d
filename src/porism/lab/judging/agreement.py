"""Agreement of assessors, of models with people, and with known grades: Cohen's kappas and Krippendorff's alpha."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from porism.lab.judging.assessments import Assessment, InstanceId, assessments, main_judgments
from porism.lab.judging.assignments import assignments
from porism.lab.judging.items import JudgedItem
from porism.lab.judging.journal import Journal
from porism.lab.judging.people import is_model
from porism.lab.judging.scale import RELEVANT, grades


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Return Cohen's unweighted kappa of pairs of labels: (po - pe) / (1 - pe), with pe from the two marginals.

    1 if both gave one and the same label throughout, undefined (None) without pairs. Cohen, A coefficient of agreement
    for nominal scales, 1960. Of 50 pairs with 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no:

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

    A grade that is two steps away weighs four times as much as one that is one step away. Undefined (None) without
    pairs; 1 if both gave one and the same grade throughout. Cohen, Weighted kappa, 1968.

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
    """Return Krippendorff's alpha for ordered grades. A unit is the grades of one item by any number of assessors.

    Units with fewer than two grades do not count. Undefined (None) without any other; 1 if all grades are the same. The
    distance of two grades is the squared number of grades given between them, half of those at both ends.
    Krippendorff, Computing Krippendorff's alpha-reliability, 2011.

    >>> round(alpha([(1, 1), (2, 2), (3, 3), (1, 2)]), 4)
    0.79
    """
    pairable = [grades for grades in units if len(grades) > 1]
    totals = Counter(grade for grades in pairable for grade in grades)
    if not totals:
        return None
    rank = {grade: totals[grade] / 2 + sum(totals[one] for one in totals if one < grade) for grade in totals}
    observed = sum(
        sum((rank[a] - rank[b]) ** 2 for a in grades for b in grades) / (len(grades) - 1) for grades in pairable
    )
    expected = sum(x * y * (rank[a] - rank[b]) ** 2 for a, x in totals.items() for b, y in totals.items())
    return 1.0 if expected == 0 else 1 - (totals.total() - 1) * observed / expected


class PairAgreement(NamedTuple):
    """The agreement of two assessors on the items that both graded 0 to 3.

    `kappa` is four-way, `kappa_hm` is High or Medium against the rest, `kappa_weighted` is four-way with squared
    distances. `ungraded` counts the shared items for which one of them chose System failure or Do not know.
    """

    first: str
    second: str
    items: int
    kappa: float | None
    kappa_hm: float | None
    kappa_weighted: float | None
    ungraded: int = 0


class Kappas(NamedTuple):
    """Four-way kappa, kappa of High or Medium against the rest, and weighted kappa; None where undefined."""

    kappa: float | None
    kappa_hm: float | None
    kappa_weighted: float | None


def _kappas(pairs: Sequence[tuple[int, int]]) -> Kappas:
    return Kappas(kappa(pairs), kappa([(a >= RELEVANT, b >= RELEVANT) for a, b in pairs]), weighted_kappa(pairs))


def _grades(assessments: Iterable[Assessment]) -> dict[str, dict[InstanceId, int]]:
    """Return the grades of each assessor."""
    table: dict[str, dict[InstanceId, int]] = {}
    for given in assessments:
        table.setdefault(given.assessor, {})[given.instance_id] = given.grade
    return table


def pair_agreements(assessments: Iterable[Assessment]) -> list[PairAgreement]:
    """Return the agreement of every pair of assessors who share items."""
    table = _grades(assessments)
    result = []
    for a, b in itertools.combinations(sorted(table), 2):
        shared = sorted(table[a].keys() & table[b].keys())
        graded = [(table[a][key], table[b][key]) for key in shared if max(table[a][key], table[b][key]) <= 3]
        if shared:
            result.append(PairAgreement(a, b, len(graded), *_kappas(graded), len(shared) - len(graded)))
    return result


def mean_agreement(pairs: Iterable[PairAgreement], assessor: str = "") -> Kappas:
    """Average the kappas over pairs (of one assessor, if named), without pooling items; skip undefined ones."""
    mine = [pair for pair in pairs if not assessor or assessor in (pair.first, pair.second)]
    columns = [[getattr(pair, name) for pair in mine if getattr(pair, name) is not None] for name in Kappas._fields]
    return Kappas(*(statistics.fmean(known) if known else None for known in columns))


def overall_alpha(assessments: Iterable[Assessment]) -> float | None:
    """Return Krippendorff's alpha over all items that two or more assessors graded 0 to 3."""
    units: dict[InstanceId, list[int]] = {}
    for given in _grades(assessments).values():
        for key, grade in given.items():
            if grade <= 3:
                units.setdefault(key, []).append(grade)
    return alpha(units.values())


class Disagreement(NamedTuple):
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
        groups.setdefault(given.instance_id, {})[given.assessor] = given
    found = [
        Disagreement(*key, tuple(given for _, given in sorted(by_name.items())))
        for key, by_name in groups.items()
        if len({given.grade for given in by_name.values()}) > 1
    ]
    return sorted(found, key=lambda d: (-d.spread, d.topic, d.item, d.instance))


class GradeAgreement(NamedTuple):
    """The items to which people gave one grade: how often the model gave each grade, best first, or none (`ungraded`).

    `share` is the share of the same grade, `kappa` is that of this grade against all others.
    """

    code: int
    name: str
    items: int
    by_model: tuple[int, ...]
    ungraded: int
    share: float | None
    kappa: float | None


class ModelAgreement(NamedTuple):
    """Agreement of a model with the main judgments of people; coefficients are on items that both graded 0 to 3."""

    model: str
    items: int
    ungraded: int
    kappa: float | None
    kappa_hm: float | None
    kappa_weighted: float | None
    alpha: float | None
    grades: tuple[GradeAgreement, ...]


def model_agreements(assessments: Iterable[Assessment]) -> list[ModelAgreement]:
    """Return the agreement of every model that judged an item which a person judged, too."""
    given = list(assessments)
    people = {one.instance_id: one.grade for one in main_judgments(given)}
    found = []
    for model in sorted({one.assessor for one in given if is_model(one.assessor)}):
        own = {one.instance_id: one.grade for one in given if one.assessor == model and one.purpose == "dual"}
        pairs = [(people[key], own[key]) for key in sorted(own.keys() & people.keys())]
        if pairs:
            graded = [pair for pair in pairs if max(pair) <= 3]
            rows = tuple(_row(step.code, step.name, pairs, graded) for step in grades() if step.graded)
            counts = (len(graded), len(pairs) - len(graded))
            found.append(ModelAgreement(model, *counts, *_kappas(graded), alpha(graded), rows))
    return found


def _row(code: int, name: str, pairs: list[tuple[int, int]], graded: list[tuple[int, int]]) -> GradeAgreement:
    answers = [second for first, second in pairs if first == code]
    by_model = tuple(answers.count(step.code) for step in grades() if step.graded)
    counted = sum(by_model)
    share = answers.count(code) / counted if counted else None
    one_grade = kappa([(first == code, second == code) for first, second in graded]) if counted else None
    return GradeAgreement(code, name, len(answers), by_model, len(answers) - counted, share, one_grade)


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """One assessor in one round: agreement with the known grades and, on average, with the other assessors."""

    task: int
    round: int
    assessor: str
    items: int
    same_grade: int
    known_kappa: float | None
    known_kappa_hm: float | None
    others_kappa: float | None
    others_kappa_hm: float | None


def training_results(journal: Journal) -> list[TrainingResult]:
    """Return the result of every assessor in every round, in order."""
    rows = journal.read("SELECT task, topic, item, known_grade FROM item WHERE known_grade IS NOT NULL")
    known = {JudgedItem(row["task"], row["topic"], row["item"]): row["known_grade"] for row in rows}
    rounds = {assignment.id: assignment.round for assignment in assignments(journal)}
    groups: dict[tuple[int, int], list[Assessment]] = {}
    for given in assessments(journal, "training"):
        groups.setdefault((given.task, rounds[given.assignment]), []).append(given)
    found = []
    for (task, number), group in sorted(groups.items()):
        for name in sorted({given.assessor for given in group}):
            mine = [given for given in group if given.assessor == name and given.grade <= 3]
            pairs = [(given.grade, known[JudgedItem(task, given.topic, given.item)]) for given in mine]
            # A model is compared with people, and people with people only.
            others = [given for given in group if given.assessor == name or not is_model(given.assessor)]
            kappas = (*_kappas(pairs)[:2], *mean_agreement(pair_agreements(others), name)[:2])
            found.append(TrainingResult(task, number, name, len(pairs), sum(a == b for a, b in pairs), *kappas))
    return found
