"""The reproduction matrix: all systems on all test sets, compared with the figures of the last time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.verify.measure import MEASURES, SUBSTITUTE, Cell, measured
from bench.verify.sets import SETS, TestSet, Workplace
from porism.errors import PorismError
from porism.files import atomic_file
from porism.progress import Progress
from porism.systems.declared.declaration import Declaration, find_declaration, shipped
from porism.systems.declared.pipeline import is_runnable, used_models

EXPECTED = Path(__file__).with_name("expected.json")
NO_LINKS = "baselines/Linked MSE posts"  # its links are in no test set
Cells = Mapping[str, Mapping[str, Cell]]  # test set -> system -> figures


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a verification computed: the cells, and a line for every figure that is not the stored one and for every
    system that failed."""

    cells: Cells
    changes: tuple[str, ...]


def systems_of(test: TestSet, names: Sequence[str] = (), models: Mapping[str, str] | None = None) -> list[str]:
    """Return the systems to run on a set: every declared one that can run with these models, or those named."""
    declared = [one for one in shipped() if one.task == test.task and one.name != NO_LINKS]
    runnable = [one.name for one in declared if is_runnable(one, models)]
    wanted = {_declared(name).name for name in names}
    return [name for name in runnable if not names or name in wanted]


def _declared(name: str) -> Declaration:
    for task in (1, 2):
        try:
            return find_declaration(name, task)
        except PorismError as error:
            last = error
    raise last


def with_models(test: TestSet, system: str, models: Mapping[str, str]) -> Mapping[str, str]:
    """Return the models that a system uses; none for one that needs none."""
    return used_models(find_declaration(system, test.task), {}, models)


def verify(
    place: Workplace,
    progress: Progress,
    names: Sequence[str] = (),
    sets: Iterable[str] = (),
    models: Mapping[str, str] | None = None,
) -> Outcome:
    """Run systems on test sets and compare each cell with the stored one. Cells that were not requested keep the stored
    figures.

    Systems that use one of the `models` run with it, and their cells are those of substitutes.
    """
    wanted = set(sets) or {test.name for test in SETS}
    if unknown := wanted - {test.name for test in SETS}:
        raise PorismError(
            f"no test set is named {min(unknown)}", fix=f"choose one of {', '.join(test.name for test in SETS)}"
        )
    expected = stored_cells()
    cells: dict[str, dict[str, Cell]] = {test.name: dict(expected.get(test.name, {})) for test in SETS}
    changes: list[str] = []
    for test in SETS:
        for system in systems_of(test, names, models) if test.name in wanted else ():
            given = with_models(test, system, models or {})
            label = f"{system}{SUBSTITUTE}" if given else system
            try:
                cell = measured(place, system, test, progress, given)
            except PorismError as error:
                changes.append(f"{label} on {test.title}: {error}")
                continue
            before = cells[test.name].get(label)
            cells[test.name][label] = cell
            print(f"{test.title:20} {label:45} {_figures(cell)}", flush=True)
            difference = ["not stored yet"] if before is None else cell.differs(before)
            changes += [f"{label} on {test.title}: {line}" for line in difference]
    return Outcome(cells, tuple(changes))


def _figures(cell: Cell) -> str:
    scores = " ".join(f"{cell.scores[name]:.3f}" for name in MEASURES)
    fidelity = " ".join(
        f"{name} {value:.3f}" for name, value in cell.fidelity.items() if name in ("tau", "rbo", "pairs")
    )
    return f"{scores}  {cell.seconds * 1000:6.0f} ms  {fidelity}"


def stored_cells() -> Cells:
    """Return the stored figures."""
    return {
        test: {system: Cell(**{**cell, "notes": tuple(cell["notes"])}) for system, cell in systems.items()}
        for test, systems in json.loads(EXPECTED.read_text("utf-8")).items()
    }


def store_cells(cells: Cells) -> None:
    """Store figures."""
    known = {one.name for one in shipped()}
    rows = {
        test: {name: asdict(cell) for name, cell in sorted(systems.items()) if name.removesuffix(SUBSTITUTE) in known}
        for test, systems in cells.items()
    }
    with atomic_file(EXPECTED) as stream:
        json.dump(rows, stream, indent=1, sort_keys=True, ensure_ascii=False)
        stream.write("\n")
