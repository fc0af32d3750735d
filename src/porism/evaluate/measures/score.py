"""Rankings and grades become numbers; the numbers come from trec_eval's own code (pytrec_eval)."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import pytrec_eval

from porism.errors import PorismError
from porism.evaluate.measures.measure import LAB, Measure
from porism.evaluate.measures.prime import limited, primed
from porism.evaluate.qrels import Qrels, judged, pooled
from porism.evaluate.runs.run import Run

Average = Literal["official", "present", "complete"]
AVERAGES: dict[Average, str] = {
    "official": "topics with a judged hit (the lab's prefiltered runs without -c)",
    "present": "topics that the run answers (trec_eval -J without -c)",
    "complete": "all topics of the qrels, a missing one counts 0 (trec_eval -c)",
}


@dataclass(frozen=True, slots=True)
class Scores:
    """The values of a run per topic and measure, over the topics that the averaging mode counts."""

    run: str
    average: Average
    measures: tuple[Measure, ...]
    topics: tuple[str, ...]
    values: dict[Measure, dict[str, float]]

    def mean(self, measure: Measure) -> float:
        """The mean over the topics, added in trec_eval's order, so that its four decimals come out also where 0.26875 is to be rounded."""
        values = self.values[measure]
        total = 0.0
        for topic in sorted(self.topics):  # not sum(): newer Pythons correct its rounding
            total += values[topic]
        return total / len(self.topics)

    def row(self, measure: Measure) -> list[float]:
        """The values in the order of `topics`."""
        return [self.values[measure][topic] for topic in self.topics]

    def only(self, topics: Iterable[str]) -> Scores:
        """The same over some of the topics."""
        wanted = set(topics)
        kept = tuple(topic for topic in self.topics if topic in wanted)
        if not kept:
            raise PorismError(
                f"run {self.run} has none of these topics", fix="check the topic information against the qrels"
            )
        return Scores(self.run, self.average, self.measures, kept, self.values)


def score(qrels: Qrels, run: Run, measures: Sequence[Measure] = LAB, average: Average = "complete") -> Scores:
    """Measure a run. A run that shares no topic, or no judged item, with the qrels is an error, not 0."""
    grades = judged(qrels)
    refuse_strangers(grades, run)
    refuse_poor(grades, measures)
    with no_collection():
        judged_run = primed(run, grades)
        if not judged_run.rankings:
            raise PorismError(
                f"no hit of run {run.name} is judged, so it cannot be scored",
                fix="check that run and qrels use the same ids (Task 2: visual ids; give --collection or --visual-map)",
            )
        topics = counted(grades, run, judged_run, average)
        values = {measure: dict.fromkeys(topics, 0.0) for measure in measures}
        for group in {
            sort_of(measure): [other for other in measures if sort_of(other) == sort_of(measure)]
            for measure in measures
        }.values():
            name, prime, level = sort_of(group[0])
            if name == "judged":
                results = judged_shares(grades, run, group)
            else:
                results = engine(
                    pooled(qrels) if name == "infAP" else grades, judged_run if prime else run, group, level
                )
            for topic in results.keys() & set(topics):
                for measure in group:
                    values[measure][topic] = results[topic][measure.engine or str(measure)]
    return Scores(run.name, average, tuple(measures), topics, values)


def sort_of(measure: Measure) -> tuple[str, bool, int]:
    """Measures of one sort are computed together: same list, same level. bpref looks at judged items only, so the filtered list does."""
    return (
        measure.name if measure.name in ("infAP", "judged") else "",
        measure.prime or measure.name == "bpref",
        measure.rel,
    )


def refuse_strangers(grades: Qrels, run: Run) -> None:
    """Errors for what cannot be scored at all."""
    if not grades:
        raise PorismError("the qrels hold no judged item", fix="give judgments with grades 0 to 3")
    if run.kind == "task3":
        raise PorismError(
            f"{run.name} is a Task 3 run",
            fix="score it with the map of its answers: porism eval QRELS RUN --answers MAP",
        )
    if not run.rankings.keys() & grades.keys():
        one, other = next(iter(run.rankings), "none"), next(iter(grades))
        raise PorismError(
            f"run {run.name} and the qrels share no topic (run: {one}, qrels: {other})",
            fix="give the qrels of the run's topics",
        )


def refuse_poor(grades: Qrels, measures: Sequence[Measure]) -> None:
    """Without a relevant item every run would score 0, which would say nothing of the run."""
    highest = max(grade for row in grades.values() for grade in row.values())
    for measure in measures:
        least = 1 if measure.family.graded else measure.rel
        if highest < least and measure.name != "judged":
            raise PorismError(
                f"no item of the qrels has grade {least} or more, so {measure} cannot be computed",
                fix="give qrels with relevant items, or another rel=",
            )


def counted(grades: Qrels, run: Run, judged_run: Run, average: Average) -> tuple[str, ...]:
    """The topics that the mean is taken over, in the order of the qrels."""
    within: dict[Average, Mapping[str, object]] = {
        "official": judged_run.rankings,
        "present": run.rankings,
        "complete": grades,
    }
    if average not in within:
        raise PorismError(f"no averaging mode {average!r}", fix=f"choose among {', '.join(AVERAGES)}")
    return tuple(topic for topic in grades if topic in within[average])


def engine(grades: Qrels, run: Run, measures: Sequence[Measure], level: int) -> dict[str, dict[str, float]]:
    """trec_eval's values for the topics that the run and the qrels share."""
    lists = {}
    for topic in run.rankings.keys() & grades.keys():
        top = limited(run.rankings[topic])
        lists[topic] = dict(zip(top.items, top.scores, strict=True))
    evaluator = pytrec_eval.RelevanceEvaluator(
        {topic: grades[topic] for topic in lists}, {measure.engine for measure in measures}, relevance_level=level
    )
    found: dict[str, dict[str, float]] = evaluator.evaluate(lists)
    return found


def judged_shares(grades: Qrels, run: Run, measures: Sequence[Measure]) -> dict[str, dict[str, float]]:
    """Of the first items of each topic, the share that was judged."""
    shares: dict[str, dict[str, float]] = {}
    deepest = max(measure.cut for measure in measures)
    for topic in run.rankings.keys() & grades.keys():
        known = [item in grades[topic] for item, _ in run.rankings[topic].pairs(deepest)]
        shares[topic] = {str(measure): sum(known[: measure.cut]) / len(known[: measure.cut]) for measure in measures}
    return shares


@contextmanager
def no_collection() -> Iterator[None]:
    """Millions of small dictionaries are made here and none forms a cycle: the collector would only walk over them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
