"""How far the judgments can be trusted: how much of the runs they cover, and how stable the order of systems is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from porism.errors import PorismError
from porism.evaluate.measures.measure import LEVEL, Measure, parse
from porism.evaluate.measures.score import Average, score
from porism.evaluate.qrels import Qrels, judged_only
from porism.evaluate.runs.run import LIMIT, Run
from porism.records import Judgment

DEPTHS = (5, 10, 20, 50, 100, 1000)
CURVE_DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
POINTS = 20
DRAWS = 500
SEED = 2022
STABLE = 0.9  # Voorhees (2000) calls two orders of systems equivalent from here on
STEADY_POINTS = 3  # points in a row that must be stable before the hint says so
LEVELLED = 0.02  # a curve that rose by less than this over its last third has levelled off


class CurvePoint(NamedTuple):
    """The mean of a measure at one depth."""

    depth: int
    value: float


def precision_by_depth(run: Run, qrels: Qrels) -> list[CurvePoint]:
    """Return the mean P' at each depth, over all topics of the qrels."""
    return _by_depth(run, qrels, "P'", judged_only(qrels))


def recall_by_depth(run: Run, qrels: Qrels) -> list[CurvePoint]:
    """Return the mean recall at each depth, over the topics with a relevant item. Unjudged hits keep their ranks."""
    return _by_depth(run, qrels, "recall", judged_only(qrels, LEVEL))


def _by_depth(run: Run, qrels: Qrels, measure: str, topics: Iterable[str]) -> list[CurvePoint]:
    measures = [parse(f"{measure}@{depth}") for depth in CURVE_DEPTHS]
    scores = score(qrels, run, measures).only(topics)
    return [CurvePoint(depth, scores.mean(one)) for depth, one in zip(CURVE_DEPTHS, measures, strict=True)]


def judged_by_depth(run: Run, qrels: Qrels, depths: Sequence[int] = DEPTHS) -> list[CurvePoint]:
    """Return the share of judged hits down to each depth, over all hits of the topics of both run and qrels."""
    grades = judged_only(qrels)
    topics = [topic for topic in grades if topic in run.rankings]
    if not topics:
        fact = f"run {run.name} and the qrels have no topic in common"
        raise PorismError(fact, fix="give the qrels of the run's topics")
    deepest = max(depths)
    judged = [[item in grades[topic] for item in run.rankings[topic].in_score_order(deepest).items] for topic in topics]
    above = [(depth, [flag for row in judged for flag in row[:depth]]) for depth in depths]
    return [CurvePoint(depth, sum(flags) / len(flags)) for depth, flags in above]


def relevant_found(run: Run, qrels: Qrels) -> float:
    """Return the share of all relevant items that the run returned, at any rank."""
    relevant = judged_only(qrels, LEVEL)
    if not relevant:
        raise PorismError("the qrels have no relevant item", fix=f"give judgments with grade {LEVEL} or more")
    answered = relevant.keys() & run.rankings.keys()
    found = sum(len(relevant[topic].keys() & set(run.rankings[topic].items)) for topic in answered)
    return found / sum(map(len, relevant.values()))


class LeftOut(NamedTuple):
    """A run scored with all judgments, and without those that only its team contributed."""

    team: str
    run: str
    measure: Measure
    full: float
    reduced: float | None
    removed: int

    @property
    def change(self) -> float | None:
        """The difference: negative if the run loses."""
        return None if self.reduced is None else self.reduced - self.full


def leave_team_out(
    qrels: Qrels, runs: Mapping[str, Sequence[Run]], measure: Measure, average: Average = "complete"
) -> list[LeftOut]:
    """Score each team's runs without the judged items that only this team contributed. Zobel, SIGIR 1998.

    A large loss means that the pool is unfair to new systems. Topics without remaining judgments are removed; a run
    without judged hits has no reduced value.
    """
    contributors: dict[tuple[str, str], set[str]] = {}
    for team, run in ((team, run) for team, mine in runs.items() for run in mine):
        for topic, ranking in run.rankings.items():
            for item in ranking.in_score_order(LIMIT).items:
                contributors.setdefault((topic, item), set()).add(team)
    grades = judged_only(qrels)
    rows: list[LeftOut] = []
    for team, mine in runs.items():
        kept = {
            topic: {item: grade for item, grade in row.items() if contributors.get((topic, item)) != {team}}
            for topic, row in grades.items()
        }
        reduced = {topic: row for topic, row in kept.items() if row}
        removed = sum(map(len, grades.values())) - sum(map(len, reduced.values()))
        for run in mine:
            full, without = score(grades, run, [measure], average).mean(measure), None
            with suppress(PorismError):
                without = score(reduced, run, [measure], average).mean(measure)
            rows.append(LeftOut(team, run.name, measure, full, without, removed))
    return rows


@dataclass(frozen=True, slots=True)
class StabilityPoint:
    """The order of the runs after a number of judgments, on the topics that have a relevant item until then.

    `tau` is the mean over the draws and `low` the value that 95 % of them exceed. `final` compares the order with the
    one on all judgments. All are None while fewer than two topics or runs can be scored.
    """

    judgments: int
    topics: int
    tau: float | None
    low: float | None
    final: float | None


class Stability(NamedTuple):
    """The curve, and the number of judgments from which on it was stable (None: not yet)."""

    points: tuple[StabilityPoint, ...]
    stable_from: int | None

    @property
    def hint(self) -> str:
        """What the curve suggests to an organiser, in one sentence."""
        made = self.points[-1].judgments
        taus = [point.tau for point in self.points if point.tau is not None]
        third = len(taus) // 3
        if self.stable_from is not None:
            return (
                f"The order of the systems has been stable since {self.stable_from:,} of {made:,} judgments "
                f"(mean tau at least {STABLE}): more judgments of these topics are unlikely to change it."
            )
        if third >= STEADY_POINTS and fmean(taus[-third:]) - fmean(taus[-2 * third : -third]) < LEVELLED:
            return (
                f"The order of the systems is not stable after {made:,} judgments, and more judgments of these topics "
                f"no longer help (mean tau {self.points[-1].tau:.2f}): some systems are too similar. Judge more topics."
            )
        return f"The order of the systems is not stable after {made:,} judgments: go on judging."


def stability(
    judgments: Sequence[Judgment],
    runs: Sequence[Run],
    measure: Measure,
    *,
    points: int = POINTS,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Stability:
    """Return the curve over judgments, which are in the order in which they were made."""
    if len(runs) < 2:
        raise PorismError("ordering systems takes at least two runs", fix="name more runs")
    if not judgments:
        raise PorismError("there are no judgments yet", fix="judge some items first")
    counts = sorted({max(1, round(len(judgments) * step / points)) for step in range(1, points + 1)})
    tables = [_scores(judgments[:count], runs, measure) for count in counts]
    last = None if tables[-1] is None else tables[-1].mean(axis=1)
    generator = np.random.default_rng(seed)
    found = []
    for count, table in zip(counts, tables, strict=True):
        topics = 0 if table is None else table.shape[1]
        if table is None or last is None:
            found.append(StabilityPoint(count, topics, None, None, None))
            continue
        means = table.mean(axis=1)
        # Tau between the order on all topics and that on each draw of topics.
        taus = _taus(table[:, generator.integers(0, topics, (draws, topics))].mean(axis=2).T, means)
        final = _taus(means[None], last)[0]
        found.append(StabilityPoint(count, topics, float(taus.mean()), float(np.quantile(taus, 0.05)), float(final)))
    return Stability(tuple(found), _stable_from(found))


def _scores(judgments: Iterable[Judgment], runs: Sequence[Run], measure: Measure) -> NDArray[np.float64] | None:
    """Return values by run (rows) and topic with a relevant item (columns); None for fewer than two topics."""
    grades: Qrels = {}
    for judgment in judgments:
        grades.setdefault(judgment.topic, {})[judgment.item] = judgment.grade
    least = measure.least_relevant
    kept = {topic: row for topic, row in judged_only(grades).items() if max(row.values()) >= least}
    if len(kept) < 2:
        return None
    table = np.zeros((len(runs), len(kept)))
    for line, run in zip(table, runs, strict=True):
        answered = [topic for topic in kept if topic in run.rankings]
        # Early on, no hit of a run may be judged: it scores 0.
        if any(not kept[topic].keys().isdisjoint(run.rankings[topic].items) for topic in answered):
            values = score(kept, run, [measure]).values[measure]
            line[:] = [values[topic] for topic in sorted(kept)]
    return table


def _taus(means: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Kendall's tau-b of each row of means with the reference; 0 where all means of a row are equal."""
    first, second = np.triu_indices(len(reference), 1)
    signs = np.sign(means[:, first] - means[:, second])
    known = np.sign(reference[first] - reference[second])
    pairs = np.sqrt((signs**2).sum(axis=1) * (known**2).sum())
    taus = np.zeros(len(means))
    np.divide(signs @ known, pairs, out=taus, where=pairs > 0)
    return taus


def _stable_from(points: Sequence[StabilityPoint]) -> int | None:
    """Return the number of judgments from which on every point is stable, if there are enough such points."""
    steady: list[StabilityPoint] = []
    for point in points:
        steady = [*steady, point] if point.tau is not None and point.tau >= STABLE else []
    return steady[0].judgments if len(steady) >= STEADY_POINTS else None
