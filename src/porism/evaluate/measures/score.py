"""Score runs against qrels, over all topics or subsets; several runs make an experiment. ir_measures does the work."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Literal, NamedTuple

import ir_measures

from porism.corpus.topics.files import ALLOWED, TopicInfo
from porism.errors import PorismError
from porism.evaluate.measures.measure import LAB, Measure
from porism.evaluate.qrels import Qrels, judged_only, read_qrels, visual_qrels
from porism.evaluate.runs.lines import parse_name
from porism.evaluate.runs.lookup import read_runs
from porism.evaluate.runs.run import LIMIT, SUBSTITUTE_TAG, Run, RunRanking


def _first_hits(ranking: RunRanking) -> RunRanking:
    """Return as many hits as the lab allows, in trec_eval's order. This comes before any filter."""
    if len(ranking.items) <= LIMIT and len(set(ranking.items)) == len(ranking.items):
        return ranking
    return ranking.in_score_order(LIMIT)


def prime_filter(run: Run, qrels: Mapping[str, Mapping[str, int]]) -> Run:
    """Keep only judged hits, in their order and with their scores, and only topics with a judged hit."""
    kept: dict[str, RunRanking] = {}
    for topic, ranking in run.rankings.items():
        grades = qrels.get(topic)
        if not grades:
            continue
        top = _first_hits(ranking)
        judged = [item in grades for item in top.items]
        if any(judged):
            kept[topic] = RunRanking(list(compress(top.items, judged)), list(compress(top.scores, judged)))
    return replace(run, rankings=kept)


Average = Literal["official", "present", "complete"]
AVERAGES: dict[Average, str] = {
    "official": "topics with a judged hit (the lab's prefiltered runs without -c)",
    "present": "topics that the run answers (trec_eval -J without -c)",
    "complete": "all topics of the qrels, a missing one counts 0 (trec_eval -c)",
}


@dataclass(frozen=True, slots=True)
class Scores:
    """The values of a run by measure and topic; `topics` are those that the means are taken over."""

    run: str
    average: Average
    measures: tuple[Measure, ...]
    topics: tuple[str, ...]
    values: dict[Measure, dict[str, float]]

    def mean(self, measure: Measure) -> float:
        """Return the mean over the topics, added in trec_eval's order so that all its decimals agree."""
        values = self.values[measure]
        total = 0.0
        for topic in sorted(self.topics):  # not sum(): newer versions of Python correct its rounding
            total += values[topic]
        return total / len(self.topics)

    def row(self, measure: Measure) -> list[float]:
        """Return the values in the order of `topics`."""
        return [self.values[measure][topic] for topic in self.topics]

    def only(self, topics: Iterable[str]) -> Scores:
        """Return the scores over a subset of the topics."""
        wanted = set(topics)
        kept = tuple(topic for topic in self.topics if topic in wanted)
        if not kept:
            fact = f"run {self.run} has none of these topics"
            raise PorismError(fact, fix="compare the topic information with the qrels")
        return Scores(self.run, self.average, self.measures, kept, self.values)


def score(qrels: Qrels, run: Run, measures: Sequence[Measure] = LAB, average: Average = "complete") -> Scores:
    """Score a run. A run without a common topic or a judged hit is an error, not 0."""
    grades = judged_only(qrels)
    _refuse_useless(grades, run, measures)
    with _without_garbage_collection():
        judged_run = prime_filter(run, grades)
        if not judged_run.rankings:
            fix = "check that run and qrels use the same ids (Task 2: visual ids; give --collection or --visual-map)"
            raise PorismError(f"run {run.name} has no judged hits, so it cannot be scored", fix=fix)
        within: dict[Average, Mapping[str, object]]
        within = {"official": judged_run.rankings, "present": run.rankings, "complete": grades}
        if average not in within:
            raise PorismError(f"unknown averaging mode {average!r}", fix=f"choose one of {', '.join(AVERAGES)}")
        topics = tuple(topic for topic in grades if topic in within[average])
        values = {measure: dict.fromkeys(topics, 0.0) for measure in measures}
        for batch, group in _batches(measures).items():
            # infAP needs the items that were pooled and not judged.
            pool = judged_only(qrels, lowest=-2) if batch.by == "infAP" else grades
            compute = _judged_shares if batch.by == "Judged" else _computed
            for measure, topic, value in compute(pool, judged_run if batch.prime else run, group):
                if topic in values[measure]:
                    values[measure][topic] = value
    return Scores(run.name, average, tuple(measures), topics, values)


class _Batch(NamedTuple):
    """Measures that are computed together; `by` names a measure that needs other judgments."""

    by: str
    prime: bool


def _batches(measures: Iterable[Measure]) -> dict[_Batch, list[Measure]]:
    found: dict[_Batch, list[Measure]] = {}
    for measure in measures:
        name = measure.base.NAME
        # bpref ignores unjudged items, so the filtered ranking gives the same value.
        batch = _Batch(name if name in ("infAP", "Judged") else "", measure.prime or name == "Bpref")
        found.setdefault(batch, []).append(measure)
    return found


def _refuse_useless(grades: Qrels, run: Run, measures: Sequence[Measure]) -> None:
    """Refuse qrels without judgments or relevant items, Task 3 runs, and runs of other topics: all would score 0."""
    if not grades:
        raise PorismError("the qrels have no judged item", fix="give judgments with grades 0 to 3")
    if run.kind == "task3":
        fact = f"{run.name} is a Task 3 run"
        raise PorismError(fact, fix="score it with the map of its answers: porism eval QRELS RUN --answers MAP")
    if not run.rankings.keys() & grades.keys():
        ours, theirs = next(iter(run.rankings), "none"), next(iter(grades))
        fact = f"run {run.name} and the qrels have no topic in common (run: {ours}, qrels: {theirs})"
        raise PorismError(fact, fix="give the qrels of the run's topics")
    highest = max(grade for row in grades.values() for grade in row.values())
    for measure in measures:
        least = measure.least_relevant
        if highest < least and measure.base.NAME != "Judged":
            fact = f"no item in the qrels has grade {least} or higher, so {measure} cannot be computed"
            raise PorismError(fact, fix="give qrels with relevant items, or another rel=")


_TopicValue = tuple[Measure, str, float]


def _computed(grades: Qrels, run: Run, measures: Sequence[Measure]) -> Iterator[_TopicValue]:
    """Yield the values of ir_measures for the topics of both run and qrels."""
    rankings = {}
    for topic in run.rankings.keys() & grades.keys():
        top = _first_hits(run.rankings[topic])
        rankings[topic] = dict(zip(top.items, top.scores, strict=True))
    by_base = defaultdict(list)
    for measure in measures:
        by_base[measure.base].append(measure)
    try:
        evaluator = ir_measures.evaluator(list(by_base), {topic: grades[topic] for topic in rankings})
    except ValueError as error:
        raise PorismError(f"ir_measures: {error}", fix="install a provider of the measure, or leave it out") from None
    for found in evaluator.iter_calc(rankings):
        yield from ((measure, found.query_id, found.value) for measure in by_base[found.measure])


def _judged_shares(grades: Qrels, run: Run, measures: Sequence[Measure]) -> Iterator[_TopicValue]:
    """Yield judged@k: the share of judged items among the first k, in trec_eval's order."""
    cuts = [measure.base.params.get("cutoff", LIMIT) for measure in measures]
    for topic in run.rankings.keys() & grades.keys():
        judged = [item in grades[topic] for item in run.rankings[topic].in_score_order(max(cuts)).items]
        for measure, cut in zip(measures, cuts, strict=True):
            yield measure, topic, sum(judged[:cut]) / len(judged[:cut])


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Switch the garbage collector off, which would walk over millions of dictionaries without cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class SubsetScores(NamedTuple):
    """The scores of a run over one subset."""

    property: str
    value: str
    scores: Scores


def score_subsets(scores: Scores, infos: Mapping[str, TopicInfo]) -> Iterator[SubsetScores]:
    """Yield the scores over each value that occurs. Topics match by number: Task 2 uses the information of Task 1."""
    by_number = {topic.partition(".")[2]: topic for topic in scores.topics}
    known = [(by_number.get(topic.partition(".")[2]), info) for topic, info in infos.items()]
    for name, values in ALLOWED.items():
        for value in values:
            topics = [topic for topic, info in known if topic is not None and value in info.values(name)]
            if topics:
                yield SubsetScores(name.replace("_", "-"), value, scores.only(topics))


@dataclass(frozen=True, slots=True)
class Experiment:
    """Runs with their scores on one set of judgments."""

    qrels: Qrels
    runs: tuple[Run, ...]
    scores: tuple[Scores, ...]
    average: Average
    measures: tuple[Measure, ...]

    @property
    def note(self) -> str:
        """How means are taken; printed with every table."""
        return f"average: {self.average}, {AVERAGES[self.average]}"


def read_experiment(
    qrels: str | Path,
    runs: Sequence[str | Path],
    measures: Sequence[Measure] = LAB,
    average: Average = "complete",
    visual: Mapping[str, str] | None = None,
    instances: bool = False,
) -> Experiment:
    """Read qrels and runs, and score them.

    `visual` maps the formula ids of Task 2 runs to the visual ids of the qrels; without it, ids are compared as they
    are. With `instances`, the qrels judge formula ids (as in 2020) and are mapped too; the highest grade counts.
    """
    grades = read_qrels(qrels)
    if instances:
        if visual is None:
            fact = "qrels of formula instances need visual ids"
            raise PorismError(fact, fix="give --collection DIR or --visual-map FILE")
        grades = visual_qrels(grades, visual)
    # The name of a run says that it used a substitute for a model, if its run id does.
    label, found = SUBSTITUTE_TAG.strip("-"), read_runs(runs, visual)
    for place, run in enumerate(found):
        if run.tag.endswith(SUBSTITUTE_TAG) and label not in run.name:
            found[place] = replace(run, name=f"{run.name} ({label})")
    return score_runs(grades, found, measures, average)


def score_runs(
    qrels: Qrels, runs: Iterable[Run], measures: Sequence[Measure] = LAB, average: Average = "complete"
) -> Experiment:
    """Score several runs on one set of judgments."""
    every = tuple(runs)
    names = [run.name for run in every]
    for name in names:
        if names.count(name) > 1:
            raise PorismError(f"two runs are named {name}", fix="give their files different names")
    if not every:
        raise PorismError("no run to score", fix="name at least one run file")
    scores = tuple(score(qrels, run, measures, average) for run in every)
    return Experiment(qrels, every, scores, average, tuple(measures))


def teams(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Group runs by the team in their names; a run without such a name is a team of its own."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        name = parse_name(run.name)
        found.setdefault(name.group if name else run.name, []).append(run)
    return found
