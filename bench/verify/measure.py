"""One system on one test set: its measures, and its agreement with the published run."""

from __future__ import annotations

import itertools
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from scipy import stats

from bench.verify.sets import SLICE, TestSet, Workplace
from bench.verify.values import CHECKS
from porism.evaluate.measures.measure import parse_all
from porism.evaluate.measures.score import score
from porism.evaluate.qrels import read_qrels
from porism.evaluate.runs.lookup import to_visual_ids
from porism.evaluate.runs.run import Run, RunRanking, read_run
from porism.files import atomic_file
from porism.progress import Progress
from porism.store import open_content
from porism.systems.declared.declaration import find_declaration
from porism.systems.declared.pipeline import used_parts
from porism.systems.loading import is_declared
from porism.systems.runs.run import RunOptions, make_run, run_key

PERSISTENCE = 0.95  # p of rank-biased overlap
Scored = Mapping[str, float]  # items of one topic with their scores, best first


class TopicFidelity(NamedTuple):
    """How closely one topic follows the reference; `tau` is None where fewer than three items are in both lists."""

    tau: float | None
    rbo: float
    overlap10: float
    overlap100: float


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Medians over the topics that both runs have."""

    tau: float
    rbo: float
    overlap10: float
    overlap100: float
    topics: int
    reference_topics: int


def compare_runs(reference: Run, run: Run) -> Fidelity:
    """Return how closely a run follows a reference."""
    topics = [topic for topic in reference.rankings if topic in run.rankings]
    rows = [compare_topic(_scored(reference.rankings[topic]), _scored(run.rankings[topic])) for topic in topics]
    taus = [row.tau for row in rows if row.tau is not None]
    if not rows:
        return Fidelity(0.0, 0.0, 0.0, 0.0, 0, len(reference.rankings))
    return Fidelity(
        statistics.median(taus) if taus else 0.0,
        statistics.median(row.rbo for row in rows),
        statistics.median(row.overlap10 for row in rows),
        statistics.median(row.overlap100 for row in rows),
        len(rows),
        len(reference.rankings),
    )


def _scored(ranking: RunRanking) -> Scored:
    """Return items with scores, best first; equal scores keep the order of the file, and an item its best score."""
    found: dict[str, float] = {}
    for item, value in sorted(zip(ranking.items, ranking.scores, strict=True), key=lambda pair: -pair[1]):
        found.setdefault(item, value)
    return found


def compare_topic(reference: Scored, run: Scored) -> TopicFidelity:
    """Compare two lists of one topic."""
    both = [item for item in reference if item in run]
    tau = None
    if len(both) > 2:
        value = float(stats.kendalltau([reference[item] for item in both], [run[item] for item in both]).statistic)
        tau = None if value != value else value
    first, second = list(reference), list(run)
    overlaps = [len(set(first[:k]) & set(second[:k])) / max(1, min(k, len(first))) for k in (10, 100)]
    return TopicFidelity(tau, rank_biased_overlap(first, second), *overlaps)


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], p: float = PERSISTENCE) -> float:
    """Rank-biased overlap (Webber, Moffat and Zobel, 2010), extrapolated from the depth of the shorter list."""
    if not first or not second:
        return 0.0
    seen_first: set[str] = set()
    seen_second: set[str] = set()
    common, total, depth = 0, 0.0, min(len(first), len(second))
    for place in range(depth):
        one, two = first[place], second[place]
        common += 1 if one == two else (one in seen_second) + (two in seen_first)
        seen_first.add(one)
        seen_second.add(two)
        total += common / (place + 1) * p**place
    return (1 - p) * total + common / depth * p**depth


def same_order(reference: Run, run: Run) -> float:
    """Return the share of pairs, of items in both runs, that both order in the same way: a trend, where statistics
    differ."""
    same = pairs = 0
    for topic, ranking in reference.rankings.items():
        scores = _scored(run.rankings[topic]) if topic in run.rankings else {}
        both = [(score, scores[item]) for item, score in _scored(ranking).items() if item in scores]
        for (a, x), (b, y) in itertools.combinations(both, 2):
            pairs += a != b
            same += (a - b) * (x - y) > 0
    return same / pairs if pairs else 0.0


MEASURES = ("nDCG'", "MAP'", "P'@10", "MAP")
DIGITS = 4
SUBSTITUTE = " (substitute)"  # ends the name of a cell whose run used a model other than the original
VALUES_SET = "pool-2020"  # the cell that reports stored values, whose trees are those of the pool


@dataclass(frozen=True, slots=True)
class Cell:
    """The figures of a system on a test set. `fidelity` is empty without a reference; `seconds` is the median time of a
    query."""

    scores: Mapping[str, float]
    fidelity: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    def differs(self, other: Cell) -> list[str]:
        """Return the figures that are not those of another cell. Times are not compared."""
        ours, theirs = {**self.scores, **self.fidelity}, {**other.scores, **other.fidelity}
        names = dict.fromkeys((*ours, *theirs))
        return [
            f"{name} {theirs.get(name)} -> {ours.get(name)}" for name in names if ours.get(name) != theirs.get(name)
        ]


def run_file(place: Workplace, system: str, test: TestSet) -> Path:
    """Return the file of the run of a system on a set."""
    safe = "".join(letter if letter.isalnum() or letter in "-_+." else "_" for letter in system)
    return place.work / "runs" / test.name / f"{safe}.tsv"


def made_run(
    place: Workplace, system: str, test: TestSet, progress: Progress, models: Mapping[str, str] | None = None
) -> Path:
    """Make the run of a system on a set, unless it exists for the same code, options, topics, models and collection."""
    out = run_file(place, f"{system}{SUBSTITUTE}" if models else system, test)
    index, topics = place.index(test, progress), place.topics(test)
    options = RunOptions(system, progress=progress)
    if is_declared(system):
        declaration = find_declaration(system, test.task)
        overrides = place.options((part.use for part in used_parts(declaration)), test)
        queries = place.queries(test) if declaration.manual else None
        options = RunOptions(system, queries=queries, overrides=overrides, progress=progress, models=models or {})
    key = run_key(index, topics, test.task, options)
    mark = out.with_suffix(".key")
    if not (out.exists() and mark.exists() and mark.read_text("utf-8") == key):
        make_run(index, topics, test.task, out, options)
        with atomic_file(mark) as stream:
            stream.write(key)
    return out


def measured(
    place: Workplace, system: str, test: TestSet, progress: Progress, models: Mapping[str, str] | None = None
) -> Cell:
    """Return the figures of a system on a set; `models` are directories of pretrained models."""
    out = made_run(place, system, test, progress, models)
    record = json.loads(out.with_suffix(".json").read_text("utf-8"))
    run = by_visual_id(place, read_run(out), test)
    measures = parse_all(MEASURES)
    scores = score(read_qrels(place.qrels(test)), run, measures)
    values = {name: round(scores.mean(measure), DIGITS) for name, measure in zip(MEASURES, measures, strict=True)}
    return Cell(values, _fidelity(place, system, run, test), record["query_seconds"][0], tuple(record["notes"]))


def by_visual_id(place: Workplace, run: Run, test: TestSet) -> Run:
    """Return a run of formulas with visual ids, by which they are judged; other runs as they are."""
    if test.task != 2:
        return run
    return to_visual_ids(run, _visual_ids(place.work / f"{test.source}.collection"))


@lru_cache(4)
def _visual_ids(collection: Path) -> Mapping[str, str]:
    return {str(one.id): str(one.visual_id) for one in open_content(collection).formulas() if one.post_id}


def _fidelity(place: Workplace, system: str, run: Run, test: TestSet) -> Mapping[str, float]:
    reference = place.reference(system, test)
    if reference is None:
        return _stored_values(place, system) if test.name == VALUES_SET else {}
    theirs = _reference_run(place.data / "fidelity" / reference.file, test)
    if reference.kind == "trend":
        return {"pairs": round(same_order(theirs, run), DIGITS)}
    found = asdict(compare_runs(theirs, run))
    return {name: round(value, DIGITS) for name, value in found.items()}


def _stored_values(place: Workplace, system: str) -> Mapping[str, float]:
    """Return the shares of values, stored by the authors of a system, that ours equal."""
    check = CHECKS.get(system)
    if check is None or not (place.data / check.file).is_file():
        return {}
    return {name: round(value, DIGITS) for name, value in check.compare(place.data).items()}


def _reference_run(path: Path, test: TestSet) -> Run:
    """Read a run of an original program. Task 2 rows of MathDowers have the visual id in a seventh column; approach0
    gives visual ids."""
    if test.task == 2 and test.source == SLICE and path.suffix == ".tsv":
        return Run(path.stem, "trec", _seven_columns(path))
    return read_run(path)


def _seven_columns(path: Path) -> dict[str, RunRanking]:
    rows: dict[str, RunRanking] = {}
    for line in path.read_text("utf-8").splitlines():
        topic, _, _, _, score_text, _, visual = line.split("\t")
        ranking = rows.setdefault(topic, RunRanking([], []))
        ranking.items.append(visual)
        ranking.scores.append(float(score_text))
    return rows
