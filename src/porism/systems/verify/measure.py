"""One cell of the reproduction matrix: a system on a test set, with scores, fidelity and time. Runs that exist for the same code are not repeated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path

from porism.evaluate.measures.measure import parse_all
from porism.evaluate.measures.score import score
from porism.evaluate.qrels import read_qrels
from porism.evaluate.runs.run import Ranking, Run, read_run
from porism.evaluate.runs.visual_ids import to_visual_ids
from porism.files import atomic_file
from porism.progress import Progress
from porism.store import open_content
from porism.systems.declared.declaration import find_declaration
from porism.systems.declared.pipeline import used_parts
from porism.systems.loading import is_declared
from porism.systems.runs.run import RunOptions, make_run, run_key
from porism.systems.verify.fidelity import compare_runs, same_order
from porism.systems.verify.sets import SLICE, TestSet, Workplace
from porism.systems.verify.values import CHECKS

MEASURES = ("nDCG'", "MAP'", "P'@10", "MAP")
DIGITS = 4
SUBSTITUTE = " (substitute)"  # ends the name of a cell whose run used a model other than the original
VALUES_SET = "pool-2020"  # the cell that reports stored values, whose trees are those of the pool


@dataclass(frozen=True, slots=True)
class Cell:
    """The figures of a system on a test set. `fidelity` is empty without a reference; `seconds` is the median time of a query."""

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
    """Read a run of an original program. Task 2 rows of MathDowers have the visual id in a seventh column; approach0 gives visual ids."""
    if test.task == 2 and test.source == SLICE and path.suffix == ".tsv":
        return Run(path.stem, "trec", _seven_columns(path))
    return read_run(path)


def _seven_columns(path: Path) -> dict[str, Ranking]:
    rows: dict[str, Ranking] = {}
    for line in path.read_text("utf-8").splitlines():
        topic, _, _, _, score_text, _, visual = line.split("\t")
        ranking = rows.setdefault(topic, Ranking([], []))
        ranking.items.append(visual)
        ranking.scores.append(float(score_text))
    return rows
