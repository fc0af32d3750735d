"""Which pairs and triples of systems give most when they are fused: weights chosen on one year, tested on the other.

Scores are scaled to 0..1 per topic (min-max) and added with weights that sum to 1. The measure is MAP with unjudged
hits as not relevant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.verify.matrix import systems_of
from bench.verify.measure import by_visual_id, made_run
from bench.verify.sets import SETS, TestSet, Workplace
from porism.evaluate.qrels import read_qrels
from porism.evaluate.runs.run import LIMIT, RunRanking, read_run
from porism.evaluate.table import ResultTable
from porism.progress import Progress
from porism.systems.loading import DEFAULT

Floats = npt.NDArray[np.float64]
RELEVANT = 2  # least grade
STEPS = {2: 10, 3: 5}  # parts into which the weights of a pair or a triple are divided
MOST_LINES = 15


class TopicScores(NamedTuple):
    """The scaled scores of all systems for one topic (items x systems), and the positions of the relevant items;
    `relevant` counts those that no system found, too."""

    scores: Floats
    positions: npt.NDArray[np.int64]
    relevant: int


@dataclass(frozen=True, slots=True)
class YearScores:
    """All systems on one test set."""

    test: TestSet
    systems: tuple[str, ...]
    topics: tuple[TopicScores, ...]

    def measure(self, members: Sequence[int], weights: Sequence[float]) -> float:
        """Return the MAP of a weighted fusion."""
        mixed = np.asarray(weights)
        values = [_average_precision(one.scores[:, list(members)] @ mixed, one) for one in self.topics]
        return float(np.mean(values)) if values else 0.0


def _average_precision(fused: Floats, topic: TopicScores) -> float:
    """Return the average precision of fused scores; of equal scores, the relevant item counts as the last."""
    wanted = fused[topic.positions]
    ranks = np.sort([int((fused >= score).sum()) for score in wanted if score > 0])
    ranks = ranks[ranks <= LIMIT]
    return float((np.arange(1, len(ranks) + 1) / ranks).sum() / topic.relevant)


@dataclass(frozen=True, slots=True)
class FusionResult:
    """A fusion: its members; the weights chosen on each year; MAP on the other year with them, and without a choice
    (equal weights)."""

    members: tuple[str, ...]
    weights: tuple[tuple[float, ...], tuple[float, ...]]
    tested: tuple[float, float]

    @property
    def mean(self) -> float:
        """The mean of both tests."""
        return sum(self.tested) / 2


def year_scores(place: Workplace, test: TestSet, progress: Progress) -> YearScores:
    """Return the scores of all systems on a set, from their runs, which are made if needed."""
    systems = systems_of(test)
    runs = [by_visual_id(place, read_run(made_run(place, name, test, progress)), test) for name in systems]
    qrels = read_qrels(place.qrels(test))
    topics = []
    for topic, grades in sorted(qrels.items()):
        relevant = {item for item, grade in grades.items() if grade >= RELEVANT}
        if relevant:
            topics.append(_topic_scores([run.rankings.get(topic) for run in runs], relevant))
    return YearScores(test, tuple(systems), tuple(topics))


def _topic_scores(rankings: Sequence[RunRanking | None], relevant: set[str]) -> TopicScores:
    place: dict[str, int] = {}
    for ranking in rankings:
        for item in ranking.items if ranking else ():
            place.setdefault(item, len(place))
    scores = np.zeros((len(place), len(rankings)))
    for column, ranking in enumerate(rankings):
        if ranking and ranking.items:
            values = np.array(ranking.scores)
            spread = values.max() - values.min()
            scaled = (values - values.min()) / spread if spread else np.ones(len(values))
            scores[[place[item] for item in ranking.items], column] = np.maximum(scaled, 1e-9)  # the last hit is a hit
    return TopicScores(scores, np.array([place[item] for item in relevant if item in place], np.int64), len(relevant))


def grid(size: int) -> Iterator[tuple[float, ...]]:
    """Yield weights that sum to 1, none of them 0."""
    steps = STEPS[size]
    for first in product(range(1, steps), repeat=size - 1):
        if sum(first) < steps:
            yield tuple(part / steps for part in (*first, steps - sum(first)))


def best_fusions(years: tuple[YearScores, YearScores], size: int) -> list[FusionResult]:
    """Return the fusions of `size` systems, the best mean of both tests first."""
    names = [name for name in years[0].systems if name in years[1].systems]
    places = [{name: year.systems.index(name) for name in names} for year in years]
    results = []
    for members in combinations(names, size):
        columns = [[place[name] for name in members] for place in places]
        chosen = tuple(
            max(grid(size), key=lambda weights: (year.measure(at, weights), weights))
            for year, at in zip(years, columns, strict=True)
        )
        tested = (years[0].measure(columns[0], chosen[1]), years[1].measure(columns[1], chosen[0]))
        results.append(FusionResult(members, (chosen[0], chosen[1]), tested))
    return sorted(results, key=lambda result: -result.mean)


def single_scores(years: tuple[YearScores, YearScores]) -> Mapping[str, tuple[float, float]]:
    """Return the MAP of each system alone on both years."""
    found = {}
    for name in years[0].systems:
        if name in years[1].systems:
            found[name] = (
                years[0].measure([years[0].systems.index(name)], [1.0]),
                years[1].measure([years[1].systems.index(name)], [1.0]),
            )
    return found


def fusion_table(place: Workplace, task: int, size: int, progress: Progress) -> ResultTable:
    """Return the best fusions of a task: first those with the default engine, then all others."""
    tests = [test for test in SETS if test.task == task]
    years = (year_scores(place, tests[0], progress), year_scores(place, tests[1], progress))
    alone = single_scores(years)
    results = best_fusions(years, size)
    kept = [one for one in results if DEFAULT in one.members][:MOST_LINES]
    kept += [one for one in results if DEFAULT not in one.members][:MOST_LINES]
    rows: list[tuple[str | float, ...]] = [
        (DEFAULT, "", round(alone[DEFAULT][0], 4), "", round(alone[DEFAULT][1], 4), "")
    ]
    rows += [
        (
            " + ".join(one.members),
            _weights(one.weights[1]),
            round(one.tested[0], 4),
            _weights(one.weights[0]),
            round(one.tested[1], 4),
            "both" if all(value > base for value, base in zip(one.tested, alone[DEFAULT], strict=True)) else "",
        )
        for one in kept
    ]
    first, second = (test.title for test in tests)
    columns = (
        "systems",
        f"weights of {second}",
        f"MAP {first}",
        f"weights of {first}",
        f"MAP {second}",
        "above porism on",
    )
    note = "min-max scores; weights chosen on the other set; MAP with unjudged hits as not relevant"
    return ResultTable(f"fusions_{size}", columns, tuple(rows), f"Task {task}: fusions of {size} systems", (note,))


def _weights(weights: Sequence[float]) -> str:
    return " ".join(f"{weight:.1f}" for weight in weights)
