"""Evaluation with a collection: ids looked up by the check, visual ids of formulas, texts of references."""

from __future__ import annotations

from pathlib import Path

import pytest

import porism.cli
from corpus.small import answer, built, comment, question, write_dump
from porism.evaluate.runs.check import check_files, fix_file
from porism.evaluate.runs.lookup import CollectionLookup
from porism.evaluate.runs.problems import counts
from porism.evaluate.runs.run import read_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A question with three formulas, two of which look the same, an answer with one, a comment with one."""
    place = tmp_path_factory.mktemp("collection")
    posts = [question(1, "<p>$x^2$ and $y$ and $x^{2}$</p>", "Title"), answer(2, 1, "<p>Take $z+1$.</p>")]
    dump = write_dump(place / "dump", Posts=posts, Comments=[comment(5, 2, "why $q$?")])
    built(place / "collection", dump).close()
    return place


def formulas(folder: Path) -> dict[str, int]:
    """LaTeX -> formula id."""
    return {formula.latex: formula.id for formula in CollectionLookup(folder / "collection").content.formulas()}


def test_lookup(folder: Path) -> None:
    lookup = CollectionLookup(folder / "collection")
    assert lookup.post_kinds([1, 2, 3, 10**30]) == {1: "question", 2: "answer"}
    assert lookup.formulas([10**9]) == lookup.formulas([]) == {}
    assert list(lookup.formulas([10**9, 3, 77, 1, 10**30])) == [1, 3]
    assert lookup.bodies(["2", "99"]).keys() == {"2"}


def test_ids_are_looked_up_and_the_fixed_run_is_clean(folder: Path, tmp_path: Path) -> None:
    ids = formulas(folder)
    path = tmp_path / "T-task2-x-auto-math-P.tsv"
    rows = [(ids["x^2"], 1), (ids["q"], 2), (ids["z+1"], 1), (10**9, 1), (ids["y"], 1)]
    path.write_text("".join(f"B.1\t{item}\t{post}\t{rank}\t{-rank}\tx\n" for rank, (item, post) in enumerate(rows, 1)))
    found = counts(check_files([str(path)], collection=str(folder / "collection")))
    assert found == {"comment-formula": 1, "wrong-post": 1, "unknown-formula": 1}
    fixed = fix_file(str(path), collection=str(folder / "collection"))
    assert read_run(fixed.path).rankings["B.1"].items == [str(ids["x^2"]), str(ids["y"])]
    task1 = tmp_path / "T-task1-x-auto-both-P.tsv"
    task1.write_text("A.1\t2\t1\t3\tx\nA.1\t1\t2\t2\tx\nA.1\t77\t3\t1\tx\n")
    assert counts(check_files([str(task1)], collection=str(folder / "collection"))) == {
        "question-post": 1,
        "unknown-post": 1,
    }


@pytest.mark.parametrize("source", ["collection", "map"])
def test_task2_is_scored_by_visual_ids(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.chdir(tmp_path)
    lookup = CollectionLookup(folder / "collection")
    every = list(lookup.content.formulas())
    ids = formulas(folder)
    same = {formula.visual_id for formula in every if formula.latex in ("x^2", "x^{2}")}
    assert len(same) == 1
    Path("map.tsv").write_text("id\tvisual_id\n" + "".join(f"{formula.id}\t{formula.visual_id}\n" for formula in every))
    Path("q.txt").write_text(f"B.1 0 {same.pop()} 3\n")
    Path("instances.txt").write_text(f"B.1 0 {ids['x^{2}']} 3\nB.1 0 {ids['x^2']} 1\n")
    Path("r.tsv").write_text(
        f"B.1\t{ids['y']}\t1\t1\t3\tx\nB.1\t{ids['x^2']}\t1\t2\t2\tx\nB.1\t{ids['x^{2}']}\t1\t3\t1\tx\n"
    )
    where = ["--collection", str(folder / "collection")] if source == "collection" else ["--visual-map", "map.tsv"]
    wanted = "run\taverage\ttopics\tnDCG'\tRR\nr\tcomplete\t1\t1.000\t0.500\n"
    for words in (["q.txt", "r.tsv"], ["instances.txt", "r.tsv", "--instances"]):
        assert porism.cli.main(["eval", *words, *where, "--measures", "nDCG'", "RR", "--format", "tsv"]) == 0
        assert capsys.readouterr().out == wanted
    assert porism.cli.main(["eval", "q.txt", "r.tsv"]) == 0  # as they are, with a warning
    assert (
        "r: its formula ids are compared with visual ids as they are; map them with --collection DIR or --visual-map FILE"
        in capsys.readouterr().err
    )
    assert porism.cli.main(["eval", "instances.txt", "r.tsv", "--instances"]) == 1
    assert "qrels of formula instances need visual ids" in capsys.readouterr().err


def test_references_from_task1(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q1.txt").write_text("A.1 0 2 3\n")
    Path("S-task1-a-auto-both-P.tsv").write_text("A.1\t2\t1\t1\ta\n")
    Path("q3.txt").write_text("A.1 0 d_1 2\n")
    Path("map.tsv").write_text("T-task3-x-auto-both-extract-P\tA.1\td_1\n")
    Path("T-task3-x-auto-both-extract-P.tsv").write_text("A.1\t1\t1.0\tx\t\tTake $z+1$.\n")
    words = [
        "eval",
        "q3.txt",
        "T-task3-x-auto-both-extract-P.tsv",
        "--answers",
        "map.tsv",
        "--format",
        "tsv",
        "--task1-runs",
        "S-task1-a-auto-both-P.tsv",
    ]
    assert porism.cli.main([*words, "--task1-qrels", "q1.txt", "--collection", str(folder / "collection")]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "T-task3-x-auto-both-extract-P\t1\t2.000\t1.000\t1.000"
    assert porism.cli.main(words) == 1
    assert "references from Task 1 runs need qrels and texts" in capsys.readouterr().err
