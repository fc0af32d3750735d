"""Several runs on one set of judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from porism.errors import PorismError
from porism.evaluate.measures.measure import LAB, Measure
from porism.evaluate.measures.prime import as_visual, read_visual_map
from porism.evaluate.measures.score import AVERAGES, Average, Scores, score
from porism.evaluate.qrels import Qrels, read_qrels, to_visual
from porism.evaluate.runs.name import parse_name
from porism.evaluate.runs.run import Run, read_run


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
        """How means were taken; goes with every table."""
        return f"average: {self.average}, {AVERAGES[self.average]}"


def load(
    qrels: str | Path,
    runs: Sequence[str | Path],
    measures: Sequence[Measure] = LAB,
    average: Average = "complete",
    visual: Mapping[str, str] | None = None,
    instances: bool = False,
) -> Experiment:
    """Read and score. `visual` maps formula ids of Task 2 files to the visual ids of the qrels; without it ids are taken as they are.

    With `instances` the qrels judge formulas by their own ids (2020) and are mapped as well, the highest grade counting.
    """
    grades = read_qrels(qrels)
    if instances:
        if visual is None:
            raise PorismError(
                "qrels of formula instances need visual ids", fix="give --collection DIR or --visual-map FILE"
            )
        grades = to_visual(grades, visual)
    found = [read_run(path) for path in runs]
    if visual is not None:
        found = [as_visual(run, visual) if run.kind == "task2" else run for run in found]
    return experiment(grades, found, measures, average)


def experiment(
    qrels: Qrels, runs: Iterable[Run], measures: Sequence[Measure] = LAB, average: Average = "complete"
) -> Experiment:
    """Score runs that are in memory."""
    every = tuple(runs)
    names = [run.name for run in every]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise PorismError(f"two runs are named {twice}", fix="give their files different names")
    if not every:
        raise PorismError("no run to score", fix="name at least one run file")
    return Experiment(
        qrels, every, tuple(score(qrels, run, measures, average) for run in every), average, tuple(measures)
    )


def visual_ids(
    runs: Sequence[str | Path], collection: str | Path | None, table: str | Path | None, qrels: Qrels
) -> dict[str, str] | None:
    """The visual ids of the formulas in Task 2 runs (and in qrels of instances), from a collection or a table; None if neither is given."""
    if table is not None:
        return read_visual_map(table)
    if collection is None:
        return None
    from porism.evaluate.runs.facts import CollectionFacts

    facts = CollectionFacts(collection)
    found = {item for path in runs for ranking in read_run(path).rankings.values() for item in ranking.items}
    found.update(item for grades in qrels.values() for item in grades)
    formulas = ((item, facts.formula(int(item))) for item in sorted(found) if item.isdecimal())
    return {item: str(formula.visual_id) for item, formula in formulas if formula is not None}


def teams(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Runs by the group in their names; a run without such a name is a team of its own."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        name = parse_name(run.name)
        found.setdefault(name.group if name else run.name, []).append(run)
    return found
