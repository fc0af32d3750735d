"""Runs from topics: the default engine, your own model, and the record beside the run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from porism.cli import main
from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.files import digest_file
from porism.search.answers.reranker import Model, save_model
from porism.systems.runs.run import RunOptions, make_run

ROOT = Path(__file__).resolve().parents[2]
TOPICS = ROOT / "sample" / "topics" / "task1.xml"


@pytest.fixture
def words_alone(tmp_path: Path) -> Path:
    """A model that looks at the words of answers, and at nothing else."""
    path = tmp_path / "model.toml"
    save_model(Model({"answers": {"answer.words": 1.0}, "questions": {"title.words": 1.0}}), path, "words alone")
    return path


def test_your_own_model_ranks_the_run(demo: Path, tmp_path: Path, words_alone: Path) -> None:
    command = ["run", "--topics", str(TOPICS), "--index", str(demo / "index"), "-k", "20"]
    assert main([*command, "-o", str(tmp_path / "shipped.tsv")]) == 0
    assert main([*command, "-o", str(tmp_path / "own.tsv"), "--model", str(words_alone)]) == 0
    shipped, own = ((tmp_path / name).read_text() for name in ("shipped.tsv", "own.tsv"))
    assert {line.split("\t")[0] for line in own.splitlines()} == {topic.id for topic in read_topics(TOPICS)}
    assert own != shipped
    sidecars = [json.loads((tmp_path / name).read_text()) for name in ("shipped.json", "own.json")]
    assert [one["options"]["model"] for one in sidecars] == [None, digest_file(words_alone)]


def test_porism_run_reads_a_fitted_model(demo: Path, tmp_path: Path) -> None:
    fitted = tmp_path / "fitted.toml"
    judged = ["--topics", str(TOPICS), "--qrels", str(ROOT / "sample" / "qrels" / "task1.txt")]
    assert main(["model", "train", "ranking", str(demo / "index"), *judged, "-o", str(fitted)]) == 0
    out = tmp_path / "run.tsv"
    command = ["run", "--topics", str(TOPICS), "--index", str(demo / "index"), "--model", str(fitted), "-o", str(out)]
    assert main(command) == 0
    assert out.read_text().count("\n") > len(list(read_topics(TOPICS)))


def test_formula_search_takes_no_model(demo: Path, tmp_path: Path, words_alone: Path) -> None:
    with pytest.raises(PorismError) as caught:
        make_run(demo / "index", (), 2, tmp_path / "run.tsv", RunOptions(model=words_alone))
    assert str(caught.value) == "porism has no weights in Task 2\n  fix: leave --model out"


def test_a_file_that_is_no_model_is_reported(demo: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text("[answers]\n")
    with pytest.raises(PorismError) as caught:
        make_run(demo / "index", (), 1, tmp_path / "run.tsv", RunOptions(model=path))
    assert str(caught.value) == (
        f"porism, part feature_reranker: {path}: has no table for answers or questions\n  fix: make a new one: porism model train ranking"
    )


def test_every_process_writes_the_same_run(demo: Path, tmp_path: Path) -> None:
    runs = []
    topics = tmp_path / "topics.xml"
    tags = "geometry,triangles,circles,vectors,statistics,probability,central-limit-theorem,normal-distribution"
    topics.write_text(re.sub("(?<=<Tags>).*?(?=</Tags>)", tags, TOPICS.read_text("utf-8")), "utf-8")
    for seed in ("1", "2", "3"):  # Python orders its sets by this seed
        run = tmp_path / f"{seed}.tsv"
        command = [sys.executable, "-m", "porism.cli", "run", "--topics", str(topics), "--index", str(demo / "index")]
        command += ["-o", str(run)]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed})
        runs.append(run.read_bytes())
    assert runs[0] == runs[1] == runs[2]
