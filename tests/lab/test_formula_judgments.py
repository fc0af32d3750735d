"""Judgments of formulas by post and LaTeX become qrels of visual ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.cli import main
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.errors import PorismError
from porism.lab.judging.qrels import variants_by_visual_id
from porism.records import Judgment
from porism.store import open_content

TABLE = Path(__file__).parents[2] / "sample" / "qrels" / "task2-formulas.tsv"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Build two documents: post 1 has x^2 in two spellings, post 2 has y."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n$x^2$ and $x^{2}$\n")
    (folder / "b.md").write_text("# B\n$y$\n")
    return build([open_source(folder)], tmp_path / "c", jobs=1)


def write(folder: Path, *rows: str) -> Path:
    path = folder / "judged.tsv"
    path.write_text("\n".join(["topic\tpost_id\tlatex\tgrade", *rows]) + "\n")
    return path


def test_a_visual_id_gets_the_highest_grade_of_its_instances(notes: Path, tmp_path: Path) -> None:
    table = write(tmp_path, "B.10\t1\tx^2\t1", "B.10\t1\tx^{2}\t3", "B.10\t2\ty\t2", "B.9\t2\ty\t0")
    content = open_content(notes)
    square, name = (str(formula.visual_id) for formula in content.formulas() if formula.id in (1, 3))
    found = variants_by_visual_id(table, content)
    official = [Judgment("B.10", square, 3), Judgment("B.10", name, 2)]
    assert found.files == {"official": official, "all": [Judgment("B.9", name, 0), *official]}
    assert found.removed == ("B.9",)


def test_rows_whose_formula_is_unknown_are_reported(notes: Path, tmp_path: Path) -> None:
    table = write(tmp_path, "B.1\t1\tx^2\t1", "B.1\t1\tz\t1", "B.1\t7\ty\t2")
    with pytest.raises(PorismError) as error:
        variants_by_visual_id(table, open_content(notes))
    assert str(error.value) == (
        f"{table}:3: post 1 has no formula z\n{table}:4: post 7 has no formula y\n"
        "  fix: name the collection whose posts were judged"
    )


def test_an_invalid_grade_is_reported(notes: Path, tmp_path: Path) -> None:
    table = write(tmp_path, "B.1\t1\tx^2\t4")
    with pytest.raises(PorismError) as error:
        variants_by_visual_id(table, open_content(notes))
    assert str(error.value) == f"{table}:2: grade 4 is not one of 0, 1, 2, 3\n  fix: correct the row"


def test_the_command(notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = write(tmp_path, "B.1\t1\tx^2\t3", "B.1\t2\ty\t2")
    out = tmp_path / "qrels"
    assert main(["lab", "qrels", str(table), "--task", "2", "--collection", str(notes), "-o", str(out)]) == 0
    assert capsys.readouterr().out.split() == [str(out / f"qrel_task2_{name}.tsv") for name in ("official", "all")]
    assert (out / "qrel_task2_official.tsv").read_text() == "B.1\t0\t1\t3\nB.1\t0\t2\t2\n"
    assert main(["lab", "qrels", str(table), "--task", "1", "--collection", str(notes), "-o", str(out)]) == 1
    assert "a table of judged formulas is of Task 2\n  fix: write --task 2" in capsys.readouterr().err


def test_the_sample(sample_collection: Path) -> None:
    assert len(variants_by_visual_id(TABLE, open_content(sample_collection)).files["all"]) == 205
