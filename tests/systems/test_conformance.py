"""Every declared system that can run here does what every system must do: order, k, determinism, any query, a valid
run, an explanation."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path

import pytest

import porism
from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.evaluate.runs.check import check_files
from porism.records import Topic
from porism.search.conformance import check_retriever
from porism.search.engine import Engine
from porism.systems.declared.context import SystemContext
from porism.systems.declared.declaration import Declaration, shipped
from porism.systems.declared.pipeline import build_declared, is_runnable, used_parts
from porism.systems.runs.run import RunOptions, make_run
from porism.systems.topic_queries import topic_query

SAMPLE = Path(__file__).resolve().parents[2] / "sample" / "topics"
TOPICS = 3  # of each task, enough to show a broken run file
EXTRAS = ("gensim", "nltk", "tokenizers")


def is_missing(declaration: Declaration) -> str:
    """Return the optional library that a system needs and that is not installed."""
    names = (need.split()[0] for need in declaration.needs)
    return next((name for name in names if name in EXTRAS and importlib.util.find_spec(name) is None), "")


RUNNABLE = [one for one in shipped() if one.task < 3 and is_runnable(one)]


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conformance")


@pytest.fixture(params=RUNNABLE, ids=lambda one: f"{one.name}-{one.task}", scope="module")
def declaration(request: pytest.FixtureRequest) -> Declaration:
    found: Declaration = request.param
    if missing := is_missing(found):
        pytest.skip(f"{missing} is not installed")
    return found


def topics(task: int) -> list[Topic]:
    return read_topics(SAMPLE / f"task{task}.xml")[:TOPICS]


# The sample is too small to train well on, so the tests train briefly: part -> option -> value.
BRIEF = {"tangent_cft2": {"epochs": 1, "formulas": 300}}


def overrides(declaration: Declaration) -> dict[str, dict[str, int]]:
    return {part.use: BRIEF[part.use] for part in used_parts(declaration) if part.use in BRIEF}


def context(engine: Engine, cache: Path, declaration: Declaration) -> SystemContext:
    task, options = declaration.task, overrides(declaration)
    return SystemContext(engine.index, task, cache, overrides=options)


def test_it_ranks_any_query(engine: Engine, cache: Path, declaration: Declaration) -> None:
    system = build_declared(declaration, context(engine, cache, declaration))
    assert system.finds == ("formulas" if declaration.task == 2 else "posts")
    check_retriever(system)


def test_it_explains_its_first_hit(engine: Engine, cache: Path, declaration: Declaration) -> None:
    system = build_declared(declaration, context(engine, cache, declaration))
    query = topic_query(topics(declaration.task)[0], declaration.task)
    for hit in list(system.search(query, 1000))[:1]:
        explanation = system.explain(query, hit.id)
        assert math.isclose(explanation.value, hit.score, rel_tol=1e-4, abs_tol=1e-6)
        assert explanation.reason
        if explanation.parts:
            assert math.isclose(
                sum(one.value for one in explanation.parts), explanation.value, rel_tol=1e-4, abs_tol=1e-6
            )


def test_it_writes_a_valid_run(demo: Path, cache: Path, tmp_path: Path, declaration: Declaration) -> None:
    run = tmp_path / f"Team-task{declaration.task}-run-auto-both-P.tsv"
    options = RunOptions(declaration.name, k=20, overrides=overrides(declaration), cache=cache)
    if declaration.name == "baselines/Linked MSE posts":
        with pytest.raises(
            PorismError, match="found nothing for any topic\n  fix: needed: links made after the collection"
        ):
            make_run(demo / "index", topics(1), 1, run, options)
        return
    make_run(demo / "index", topics(declaration.task), declaration.task, run, options)
    assert check_files([str(run)], collection=str(demo / "collection")) == []
    record = json.loads(run.with_suffix(".json").read_text())
    assert record["system"] == declaration.name
    assert bool(record["notes"]) or not declaration.manual
