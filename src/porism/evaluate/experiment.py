"""An experiment: several runs scored on one set of judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from porism.errors import PorismError
from porism.evaluate.measures.measure import LAB, Measure
from porism.evaluate.measures.score import AVERAGES, Average, Scores, score
from porism.evaluate.qrels import Qrels, read_qrels, visual_qrels
from porism.evaluate.runs.lines import parse_name
from porism.evaluate.runs.lookup import read_runs
from porism.evaluate.runs.run import SUBSTITUTE_TAG, Run


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
