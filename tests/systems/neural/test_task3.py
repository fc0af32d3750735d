"""Every row of Task 3 runs with models made here: valid files, records that say substitute, a causal model behind a
real HTTP server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from endpoints import endpoint_server
from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.evaluate.runs.check import check_files
from porism.evaluate.runs.run import read_run
from porism.records import Topic
from porism.search.engine import Engine
from porism.systems.declared.declaration import Declaration, shipped
from porism.systems.declared.pipeline import is_runnable, used_parts
from porism.systems.extracts import representatives, summary_of
from porism.systems.runs.run import RunOptions, make_run
from porism.text.segment import Segment, plain_text

from .causal import write_causal
from .test_systems import BRIEF, SAMPLE

ROWS = [one for one in shipped() if one.is_published and one.task == 3]
FEW = {**BRIEF, "sentence_windows": {"posts": 2}, "causal_answer": {"tokens": 30, "beams": 2}}
KINDS = ("bi-encoder", "cross-encoder", "late-interaction", "token-encoder", "causal")


@pytest.fixture(scope="module")
def topics() -> list[Topic]:
    return read_topics(SAMPLE / "task1.xml")[:2]


@pytest.fixture(scope="module")
def causal(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    threads = islice(engine.content.threads(), 80)
    texts = [
        f"Question: {plain_text(one.question.title)}\n\nAnswer: {plain_text(one.answers[0].body)}"
        for one in threads
        if one.answers
    ]
    return write_causal(tmp_path_factory.mktemp("causal") / "tiny-gpt2", texts)


@pytest.fixture(scope="module")
def server(causal: Path) -> Iterator[str]:
    with endpoint_server(causal) as url:
        yield url


def overrides(one: Declaration, server: str) -> dict[str, dict[str, object]]:
    every = {**FEW, "endpoint_answer": {"url": f"{server}/model/v1/completions", "model": "tiny-gpt2", "tokens": 40}}
    return {part.use: every[part.use] for part in used_parts(one) if part.use in every}


def test_every_row_of_task_3_runs_with_models() -> None:
    kinds = dict.fromkeys(KINDS, "DIR")
    assert [one.name for one in ROWS if not is_runnable(one, kinds)] == ["baselines/GPT-3"]  # which needs an address
    assert len(ROWS) == 14


@pytest.mark.parametrize("one", ROWS, ids=lambda one: one.name)
def test_it_writes_a_valid_file_that_says_substitute(
    demo: Path,
    tmp_path: Path,
    cache: Path,
    one: Declaration,
    topics: list[Topic],
    models: Mapping[str, str],
    causal: Path,
    server: str,
) -> None:
    run = tmp_path / "Team-task3-run-auto-both-generate-P.tsv"
    given = {} if one.name == "baselines/GPT-3" else {**models, "causal": str(causal)}
    make_run(
        demo / "index",
        topics,
        3,
        run,
        RunOptions(one.name, overrides=overrides(one, server), cache=cache, models=given),
    )
    assert not [problem for problem in check_files([str(run)]) if problem.level == "E"]
    written = read_run(run)
    assert written.tag.endswith("-substitute")
    assert all(len(answer.text) <= 1200 for answer in written.answers.values())
    assert any(answer.text for answer in written.answers.values())
    record = json.loads(run.with_suffix(".json").read_text())
    assert {use["role"] for use in record["models"]} == {"substitute"}
    assert any(note.startswith("substitute: ") for note in record["notes"])
    generates = one.name.startswith(("baselines/", "TU_DBS/"))
    assert (record["cost"]["requests"] > 0) == generates
    assert (record["cost"]["prompt_tokens"] > 0) == generates


@pytest.mark.parametrize(
    "one", [one for one in ROWS if not one.name.startswith("baselines/")], ids=lambda one: one.name
)
def test_it_says_what_it_lacks(demo: Path, tmp_path: Path, cache: Path, one: Declaration, topics: list[Topic]) -> None:
    with pytest.raises(PorismError) as caught:
        make_run(demo / "index", topics, 3, tmp_path / "run.tsv", RunOptions(one.name, cache=cache))
    assert "needs a model that does not come with Porism: " in caught.value.message
    assert "hf download " in caught.value.fix
    assert list(tmp_path.iterdir()) == []


def test_the_same_seed_writes_the_same_answer(
    demo: Path, tmp_path: Path, cache: Path, topics: list[Topic], causal: Path
) -> None:
    for name in ("one.tsv", "two.tsv"):
        options = RunOptions(
            "TU_DBS/shortest", overrides={"causal_answer": {"tokens": 20}}, cache=cache, models={"causal": str(causal)}
        )
        record = make_run(demo / "index", topics[:1], 3, tmp_path / name, options)
        assert record.cost is not None
        assert record.cost.requests == 5
    assert (tmp_path / "one.tsv").read_text() == (tmp_path / "two.tsv").read_text()


def test_a_summary_keeps_one_sentence_of_each_cluster() -> None:
    vectors = np.array([[1, 0], [0.99, 0.01], [0, 1], [0.01, 0.99], [-1, 0]], np.float32)
    assert representatives(vectors, 3) in ([0, 2, 4], [0, 3, 4], [0, 1, 2, 4], [0, 1, 3, 4])
    sentences = [[Segment("text", f"Sentence {number}. ")] for number in range(5)]
    kept = summary_of(sentences, vectors, 35)
    assert sentences[0] in kept
    assert 1 < len(kept) < 4
