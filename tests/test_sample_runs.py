"""The runs of named systems in the sample: they are what the systems give now, and all three tasks can be pooled and
judged at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from porism.cli import main

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "sample"
RUNS = SAMPLE / "system-runs"
sys.path.insert(0, str(SAMPLE))

from make_runs import DEPTH, RUNS as NAMED  # noqa: E402, I001


def test_the_script_names_all_runs() -> None:
    assert sorted(path.stem for path in RUNS.iterdir()) == sorted(run.name for run in NAMED)
    assert len({run.system for run in NAMED if run.task == 2}) == 5


def ranking(path: Path) -> list[list[str]]:
    """Return topics, items and ranks (Task 2), or topics and texts (Task 3), without scores, which may differ in the
    last digit."""
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
    return [row[:4] if "task2" in path.name else [row[0], *row[4:]] for row in rows]


@pytest.mark.parametrize("run", [run for run in NAMED if run.system == "porism"], ids=lambda run: run.name)
def test_the_system_still_gives_the_shipped_run(run: object, demo: Path, tmp_path: Path) -> None:
    name, task, system = run  # type: ignore[misc]
    topics = SAMPLE / "topics" / f"task{2 if task == 2 else 1}.xml"
    out = tmp_path / f"{name}.tsv"
    what = ["--task", str(task), "--topics", str(topics), "--system", system, "-k", str(DEPTH)]
    command = [sys.executable, "-m", "porism.cli", "run", *what, "--index", str(demo / "index"), "-o", str(out)]
    subprocess.run(command, check=True)
    assert ranking(out) == ranking(RUNS / out.name)


def test_all_three_tasks_can_be_pooled_and_loaded(
    demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal, collection = str(tmp_path / "lab.journal"), str(demo / "collection")
    assert main(["lab", "assess", "create", journal]) == 0
    runs = {1: [*RUNS.glob("*-task3-*"), *(SAMPLE / "runs").glob("*-task1-*")], 2: list(RUNS.glob("*-task2-*"))}
    for task, files in runs.items():
        topics, pool = str(SAMPLE / "topics" / f"task{task}.xml"), str(tmp_path / f"pool{task}")
        named = ["--runs", *map(str, files)]
        assert (
            main(["lab", "pool", "build", collection, "--task", str(task), "--topics", topics, *named, "-o", pool]) == 0
        )
        assert main(["lab", "assess", "load", journal, "--pool", pool, "--topics", topics]) == 0
        assert "of 17 topics" in capsys.readouterr().err
    items = (tmp_path / "pool1" / "items.tsv").read_text("utf-8")
    assert "\td_1\t" in items  # answers of Task 3 are judged with those of Task 1
