"""Coverage of runs by the judgments: judged rates, recall of judged items, leave-one-team-out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from porism.errors import PorismError
from porism.evaluate.measures.measure import Measure
from porism.evaluate.measures.score import Average, score
from porism.evaluate.qrels import Qrels, judged_only
from porism.evaluate.runs.run import Run

DEPTHS = (5, 10, 20, 50, 100, 1000)


def judged_rates(run: Run, qrels: Qrels, depths: Sequence[int] = DEPTHS) -> dict[int, float]:
    """Return the share of judged hits down to each depth, over the topics of both run and qrels."""
    grades = judged_only(qrels)
    topics = [topic for topic in grades if topic in run.rankings]
    if not topics:
        raise PorismError(
            f"run {run.name} and the qrels have no common topic", fix="give the qrels of the run's topics"
        )
    deepest = max(depths)
    judged = [[item in grades[topic] for item in run.rankings[topic].in_score_order(deepest).items] for topic in topics]
    rates: dict[int, float] = {}
    for depth in depths:
        flags = [flag for row in judged for flag in row[:depth]]
        rates[depth] = sum(flags) / len(flags)
    return rates


def relevant_found(run: Run, qrels: Qrels, level: int = 2) -> float:
    """Return the share of all relevant items that the run returned, at any rank."""
    relevant = {
        (topic, item)
        for topic, grades in judged_only(qrels).items()
        for item, grade in grades.items()
        if grade >= level
    }
    if not relevant:
        raise PorismError("the qrels have no relevant item", fix=f"give judgments with grade {level} or more")
    return sum(item in set(run.rankings[topic].items) for topic, item in relevant if topic in run.rankings) / len(
        relevant
    )


@dataclass(frozen=True, slots=True)
class LeftOut:
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


def _contributors(runs: Mapping[str, Sequence[Run]], depth: int) -> dict[tuple[str, str], set[str]]:
    """Return, for each (topic, item), the teams that have the item among the first `depth` hits of a run."""
    found: dict[tuple[str, str], set[str]] = {}
    for team, mine in runs.items():
        for run in mine:
            for topic, ranking in run.rankings.items():
                for item in ranking.in_score_order(depth).items:
                    found.setdefault((topic, item), set()).add(team)
    return found


def leave_team_out(
    qrels: Qrels, runs: Mapping[str, Sequence[Run]], measure: Measure, depth: int = 1000, average: Average = "complete"
) -> list[LeftOut]:
    """Score each team's runs without the judged items that only this team contributed (to `depth`). Zobel, SIGIR 1998.

    A large loss means that the pool is unfair to new systems. Topics without remaining judgments are removed; a run
    without judged hits has no reduced value.
    """
    by = _contributors(runs, depth)
    grades = judged_only(qrels)
    rows: list[LeftOut] = []
    for team, mine in runs.items():
        kept = {
            topic: {item: grade for item, grade in row.items() if by.get((topic, item)) != {team}}
            for topic, row in grades.items()
        }
        reduced = {topic: row for topic, row in kept.items() if row}
        removed = sum(map(len, grades.values())) - sum(map(len, reduced.values()))
        for run in mine:
            full = score(grades, run, [measure], average).mean(measure)
            rows.append(LeftOut(team, run.name, measure, full, _mean_or_none(reduced, run, measure, average), removed))
    return rows


def _mean_or_none(qrels: Qrels, run: Run, measure: Measure, average: Average) -> float | None:
    """Return the mean, or None if the remaining judgments do not allow one."""
    try:
        return score(qrels, run, [measure], average).mean(measure)
    except PorismError:
        return None
