from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab_case import LabCase
from porism.cli import main
from porism.errors import PorismError
from porism.lab.pooling.build import PoolOptions, build_pool, read_manifest, read_pool, read_pool_run, write_pool
from porism.lab.pooling.pool import PoolOrigin


def build(case: LabCase, folder: Path, names: list[str], task: int = 1, after: Path | None = None) -> int:
    topics = case.topics2 if task == 2 else case.topics1
    arguments = [
        "lab",
        "pool",
        "build",
        str(case.collection_path),
        "--task",
        str(task),
        "--topics",
        str(topics),
        "--seed",
        "3",
    ]
    arguments += ["-o", str(folder), "--runs", *(str(case.runs[name]) for name in names)]
    return main([*arguments, "--after", str(after)] if after else arguments)


def test_a_pool_is_read_as_it_was_written(case: LabCase, tmp_path: Path) -> None:
    for task in (1, 2):
        folder = tmp_path / f"pool{task}"
        write_pool(case.pool(task), folder, PoolOptions(task, seed=3), [])
        assert read_pool(folder) == case.pool(task)


def test_building_twice_gives_the_same_bytes(case: LabCase, tmp_path: Path) -> None:
    names = [name for name in case.runs if "task2" not in name]
    assert build(case, tmp_path / "a", names) == 0
    assert build(case, tmp_path / "b", names[::-1]) == 0
    for path in sorted((tmp_path / "a").iterdir()):
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    assert (tmp_path / "a" / "task3_map.tsv").read_bytes() == b"Red-task3-gen-auto-both-generate-P\tA.1\td_1\r\n"


def test_items_do_not_reveal_their_origin(case: LabCase, tmp_path: Path) -> None:
    build(case, tmp_path / "a", [name for name in case.runs if "task2" not in name])
    shown = (tmp_path / "a" / "items.tsv").read_text()
    assert not any(name in shown for name in case.runs)
    assert "Red-task1-one-auto-both-P" in (tmp_path / "a" / "origins.tsv").read_text()


def test_later_runs_add_only_new_items(case: LabCase, tmp_path: Path) -> None:
    build(case, tmp_path / "one", ["Red-task1-one-auto-both-P"])
    build(case, tmp_path / "two", ["Blue-task1-two-auto-text-A"], after=tmp_path / "one")
    first, second = read_pool(tmp_path / "one"), read_pool(tmp_path / "two")
    assert second.items[: len(first.items)] == first.items
    assert {(item.topic, item.item, item.round) for item in second.items[len(first.items) :]} == {
        ("A.1", "15", 2),
        ("A.2", "18", 2),
    }
    assert PoolOrigin("A.1", "12", "Blue-task1-two-auto-text-A", 1) in second.origins
    assert [run.name for run in read_manifest(tmp_path / "two").runs] == [
        "Red-task1-one-auto-both-P",
        "Blue-task1-two-auto-text-A",
    ]


def test_runs_that_cannot_be_added_are_refused(
    case: LabCase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "Red-task1-one-auto-both-P"
    build(case, tmp_path / "one", [name])
    capsys.readouterr()
    assert build(case, tmp_path / "two", [name], after=tmp_path / "one") == 1
    assert (
        capsys.readouterr().err
        == f"porism: {tmp_path}/one: already holds the run {name}\n  fix: give only the new runs\n"
    )
    assert build(case, tmp_path / "two", ["Red-task2-f-auto-math-P"], task=2, after=tmp_path / "one") == 1
    assert (
        capsys.readouterr().err
        == f"porism: {tmp_path}/one: a pool of task 1, not of task 2\n  fix: name a pool of task 2\n"
    )


def test_invalid_hits_are_dropped_and_a_baseline_can_be_pooled_deeply(case: LabCase, tmp_path: Path) -> None:
    path = tmp_path / "Baseline-task1-x-auto-text-A.tsv"
    rows = [(1, "a question"), (999, "unknown"), (11, ""), (11, "twice"), (12, ""), (13, ""), (14, "")]
    path.write_text("".join(f"A.1\t{post}\t{rank}\t{20 - rank}\tx\n" for rank, (post, _) in enumerate(rows, 1)))
    shallow = PoolOptions(1, depths={"primary": 3, "alternate": 2})
    run = read_pool_run(path, shallow, ["A.1", "A.2"], case.ids)
    assert (run.entry.status, run.entry.depth) == ("alternate", 2)
    assert {"question-post": 1, "unknown-post": 1, "duplicate": 1}.items() <= run.entry.problems.items()
    assert [origin.item for origin in build_pool([run], shallow, case.ids).origins] == ["11", "12"]
    deep = PoolOptions(1, depths={"primary": 3, "alternate": 2}, primary=(path.stem,))
    run = read_pool_run(path, deep, ["A.1", "A.2"], case.ids)
    assert (run.entry.status, run.entry.depth) == ("primary", 3)


def test_a_run_of_another_task_and_a_broken_run_are_refused(case: LabCase, tmp_path: Path) -> None:
    path = case.runs["Red-task2-f-auto-math-P"]
    with pytest.raises(PorismError) as error:
        read_pool_run(path, PoolOptions(1), [], case.ids)
    assert (
        str(error.value)
        == f"{path}: a run of task2, but the pool is for task 1\n  fix: build a separate pool for each task"
    )
    broken = tmp_path / "Red-task1-b-auto-both-P.tsv"
    broken.write_text("A.1\t11\t1\t9\tx\nA.9\t12\tfirst\t8\tx\n")
    with pytest.raises(PorismError) as error:
        read_pool_run(broken, PoolOptions(1), ["A.1"], case.ids)
    assert str(error.value).startswith(f"{broken}:")


def test_the_report_of_the_command(case: LabCase, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build(case, tmp_path / "p", ["Red-task1-one-auto-both-P", "Blue-task1-two-auto-text-A"])
    capsys.readouterr()
    assert main(["lab", "pool", "report", str(tmp_path / "p"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["topics"] == {"A.1": 4, "A.2": 3}
    assert found["runs"]["Red-task1-one-auto-both-P"] == {"pooled": 5, "unique": 3}
    assert found["overlap"] == [{"runs": ["Blue-task1-two-auto-text-A", "Red-task1-one-auto-both-P"], "items": 2}]
    assert main(["lab", "pool", "report", str(tmp_path / "p")]) == 0
    assert "mean\t3.50" in capsys.readouterr().out
    assert main(["lab", "pool", "report", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"porism: {tmp_path}: not a pool (no pool.json)\n  fix: porism lab pool build\n"
