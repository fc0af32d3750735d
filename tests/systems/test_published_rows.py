"""Every row of the published tables has a declaration of its own that runs, and a row of the reproduction matrix."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.evaluate.published import published
from porism.systems.declared.declaration import Declaration, shipped
from porism.systems.declared.pipeline import is_runnable

PAGE = Path(__file__).resolve().parents[2] / "docs" / "results" / "systems.md"
TABLES = {"task1": 1, "task1-as-task3": 1, "task2": 2, "task3": 3}
TEAMS = {"Baseline": "baselines", "MathDowsers": "MathDowers", "XY_PHOC_DPRL": "XYPhoc"}  # in tables -> in names
# Two rows of MIRMU have one name; the data (T: text) tells them apart.
SAME_NAME = {("MIRMU", "MiniLM+RoBERTa", "T"): "MIRMU/MiniLM+RoBERTa_text"}
KINDS = dict.fromkeys(("bi-encoder", "cross-encoder", "late-interaction", "token-encoder", "causal"), "DIR")
NEEDS_AN_ADDRESS = "baselines/GPT-3"  # tests/systems/neural/test_task3.py runs it with a model behind a real server


def rows(table: str) -> list[tuple[str, ...]]:
    content = published(table)
    places = [content.columns.index(name) for name in ("team", "system", "data") if name in content.columns]
    return [tuple(str(row[place]) for place in places) for row in content.rows]


def declaration(row: tuple[str, ...], task: int) -> Declaration | None:
    name = SAME_NAME.get(row, f"{TEAMS.get(row[0], row[0])}/{row[1]}").casefold()  # type: ignore[call-overload]
    return next(
        (one for one in shipped() if one.is_published and one.task == task and one.name.casefold() == name), None
    )


@pytest.mark.parametrize("table", TABLES)
def test_every_row_has_a_declaration_that_runs(table: str) -> None:
    found = {row: declaration(row, TABLES[table]) for row in rows(table)}
    assert [row for row, one in found.items() if one is None] == []
    names = [one.name for one in found.values() if one]
    assert (
        len(set(names)) == len(rows(table)) == sum(one.task == TABLES[table] for one in shipped() if one.is_published)
    )
    lacking = [one.name for one in found.values() if one and not is_runnable(one, KINDS)]
    assert lacking == ([NEEDS_AN_ADDRESS] if table == "task3" else [])


@pytest.mark.parametrize(
    "one", [one for one in shipped() if one.is_published], ids=lambda one: f"{one.name}-{one.task}"
)
def test_the_matrix_has_its_row_and_command(one: Declaration) -> None:
    section = PAGE.read_text("utf-8").split(f"\n## Task {one.task}: ")[1].split("\n## ")[0].split("\n### ")[0]
    (row,) = [line for line in section.splitlines() if line.startswith(f"| [{one.name.replace('_', chr(92) + '_')}](")]
    assert f"`porism run --system '{one.name}' --task {one.task}" in row
