"""Exports as retrieval benchmarks: BEIR and the Parquet layout of Hugging Face datasets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from porism.cli import main
from porism.corpus.store.collection import Collection

SAMPLE = Path(__file__).resolve().parents[3] / "sample"


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def options(task: int) -> list[str]:
    qrels = SAMPLE / "qrels" / ("task1.txt" if task == 1 else "task2.txt")
    found = ["--task", str(task), "--topics", str(SAMPLE / f"topics/task{task}.xml")]
    return [*found, "--qrels", str(qrels)] if qrels.is_file() else found


def export(demo: Path, target: Path, form: str, task: int) -> int:
    command = ["collection", "export", str(demo / "collection"), "-o", str(target), "--format", form]
    return main([*command, *options(task)])


def test_beir_of_answers(demo: Path, tmp_path: Path) -> None:
    assert export(demo, tmp_path / "out", "beir", 1) == 0
    corpus, queries = lines(tmp_path / "out/corpus.jsonl"), lines(tmp_path / "out/queries.jsonl")
    with Collection.open(demo / "collection") as collection:
        answers = list(collection.posts("answer"))
    assert [one["_id"] for one in corpus] == [str(answer.id) for answer in answers]
    assert corpus[0]["text"] == answers[0].body.plain().strip()
    assert corpus[0]["title"]
    assert queries[0].keys() == {"_id", "text", "metadata"}
    head, *rows = (tmp_path / "out/qrels/test.tsv").read_text().splitlines()
    assert head == "query-id\tcorpus-id\tscore"
    judged = {row.split("\t")[0] for row in rows}
    assert judged <= {query["_id"] for query in queries}
    assert {row.split("\t")[2] for row in rows} <= {"0", "1", "2", "3"}


def test_beir_of_formulas(demo: Path, tmp_path: Path) -> None:
    assert export(demo, tmp_path / "out", "beir", 2) == 0
    corpus = lines(tmp_path / "out/corpus.jsonl")
    with Collection.open(demo / "collection") as collection:
        assert len(corpus) == collection.count("visuals")
    assert lines(tmp_path / "out/queries.jsonl")[0]["text"]


def test_parquet_has_the_same_rows(demo: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for form in ("beir", "hf"):
        main(
            [
                "collection",
                "export",
                str(demo / "collection"),
                "-o",
                str(tmp_path / form),
                "--format",
                form,
                *options(1),
            ]
        )
    table = parquet.read_table(tmp_path / "hf/corpus/corpus.parquet").to_pylist()
    assert table == [
        {name: one[name] for name in ("_id", "title", "text")} for one in lines(tmp_path / "beir/corpus.jsonl")
    ]
    assert parquet.read_table(tmp_path / "hf/data/test.parquet").column_names == ["query-id", "corpus-id", "score"]
    assert parquet.read_table(tmp_path / "hf/queries/queries.parquet").num_rows == len(
        lines(tmp_path / "beir/queries.jsonl")
    )
    readme = (tmp_path / "hf/README.md").read_text()
    assert readme.startswith("---\nconfigs:\n- config_name: corpus\n")
    assert "data/test.parquet" in readme


def test_a_corpus_alone(demo: Path, tmp_path: Path) -> None:
    main(["collection", "export", str(demo / "collection"), "-o", str(tmp_path / "out"), "--format", "beir"])
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["corpus.jsonl"]


def test_other_formats_take_no_topics(demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "collection",
                "export",
                str(demo / "collection"),
                "-o",
                str(tmp_path / "out"),
                "--format",
                "jsonl",
                *options(1),
            ]
        )
        == 1
    )
    assert "choose beir or hf" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
