"""How far do the judgments reach? Unjudged rates, and what a team loses when the pool is built without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from porism.errors import PorismError
from porism.evaluate.measures.measure import Measure
from porism.evaluate.measures.score import Average, score
from porism.evaluate.qrels import Qrels, judged
from porism.evaluate.runs.run import Run

DEPTHS = (5, 10, 20, 50, 100, 1000)


def judged_rates(run: Run, qrels: Qrels, depths: Sequence[int] = DEPTHS) -> dict[int, float]:
    """The share of hits down to each depth that was judged, over the topics of the run and the qrels."""
    grades = judged(qrels)
    topics = [topic for topic in grades if topic in run.rankings]
    if not topics:
        raise PorismError(f"run {run.name} and the qrels share no topic", fix="give the qrels of the run's topics")
    found: dict[int, float] = {}
    orders = {topic: [item in grades[topic] for item, _ in run.rankings[topic].pairs(max(depths))] for topic in topics}
    for depth in depths:
        known = [flag for topic in topics for flag in orders[topic][:depth]]
        found[depth] = sum(known) / len(known)
    return found


def found_share(run: Run, qrels: Qrels, level: int = 2) -> float:
    """The share of all relevant judged items that the run returned at all."""
    relevant = {
        (topic, item) for topic, grades in judged(qrels).items() for item, grade in grades.items() if grade >= level
    }
    if not relevant:
        raise PorismError("the qrels hold no relevant item", fix=f"give judgments with grade {level} or more")
    return sum(item in set(run.rankings[topic].items) for topic, item in relevant if topic in run.rankings) / len(
        relevant
    )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A run scored with all judgments and with those that its team alone contributed taken away."""

    team: str
    run: str
    measure: Measure
    full: float
    reduced: float | None
    removed: int

    @property
    def change(self) -> float | None:
        """What the run loses (negative) or gains."""
        return None if self.reduced is None else self.reduced - self.full


def contributors(runs: Mapping[str, Sequence[Run]], depth: int) -> dict[tuple[str, str], set[str]]:
    """(topic, item) -> the teams with the item in the first `depth` places of a run."""
    found: dict[tuple[str, str], set[str]] = {}
    for team, mine in runs.items():
        for run in mine:
            for topic, ranking in run.rankings.items():
                for item, _ in ranking.pairs(depth):
                    found.setdefault((topic, item), set()).add(team)
    return found


def leave_team_out(
    qrels: Qrels, runs: Mapping[str, Sequence[Run]], measure: Measure, depth: int = 1000, average: Average = "complete"
) -> list[LeftOut]:
    """For each team, its runs scored without the judged items that only its runs brought (to `depth`): is the pool fair to newcomers?

    Zobel, SIGIR 1998. Topics that lose all judgments leave the qrels. A run that has no judged hit left has no reduced value.
    """
    by = contributors(runs, depth)
    grades = judged(qrels)
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
            rows.append(LeftOut(team, run.name, measure, full, mean_or_none(reduced, run, measure, average), removed))
    return rows


def mean_or_none(qrels: Qrels, run: Run, measure: Measure, average: Average) -> float | None:
    """The mean, or None where what is left of the judgments does not allow one."""
    try:
        return score(qrels, run, [measure], average).mean(measure)
    except PorismError:
        return None
