"""Tangent-S over an index: formulas and answers, pooling, explanations, query formulas."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.corpus.topics.files import read_topics
from porism.records import Topic, TopicFormula
from porism.search.formulas.searcher import formula_query
from porism.search.query import read_query
from porism.search.retriever import Retriever
from porism.store import open_content
from porism.systems.loading import open_system
from porism.systems.tangent.trees import largest_formula, searched_formula
from porism.systems.topic_queries import topic_query

TOPICS = Path(__file__).resolve().parents[2] / "sample" / "topics"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def formulas(demo: Path, cache: Path) -> Retriever:
    return open_system(demo / "index", "Tangent-S", 2, cache=cache)


def answers(demo: Path, cache: Path, pool: str) -> Retriever:
    return open_system(demo / "index", "Tangent-S", 1, cache=cache, options={"tangent_s": {"pool": pool}})


def test_the_query_formula_itself_comes_first(formulas: Retriever, demo: Path) -> None:
    longest = max(open_content(demo / "collection").expressions(), key=lambda one: len(one.latex))
    found = formulas.search(formula_query(longest.latex), 10)
    assert len(found) == 10
    assert found.ids[0] == longest.visual_id
    assert found.scores[0] == pytest.approx(2.6769)  # every feature is 1
    assert list(found.scores) == sorted(found.scores, reverse=True)


def test_parts_of_an_explanation_sum_to_the_score(formulas: Retriever, demo: Path, cache: Path) -> None:
    for system, name, task in ((formulas, "task2.xml", 2), (answers(demo, cache, "last"), "task1.xml", 1)):
        query = topic_query(read_topics(TOPICS / name)[0], task)
        hit = list(system.search(query, 3))[-1]
        explanation = system.explain(query, hit.id)
        assert explanation.value == pytest.approx(hit.score)
        assert sum(part.value for part in explanation.parts) == pytest.approx(hit.score)
        assert len(explanation.parts) == 7


def test_an_answer_has_the_score_of_its_last_or_of_its_best_formula(demo: Path, cache: Path) -> None:
    query = topic_query(read_topics(TOPICS / "task1.xml")[0], 1)
    last, best = (answers(demo, cache, pool).search(query, 100) for pool in ("last", "max"))
    lowest = dict(zip(last.ids.tolist(), last.scores.tolist(), strict=True))
    highest = dict(zip(best.ids.tolist(), best.scores.tolist(), strict=True))
    shared = lowest.keys() & highest.keys()
    assert shared
    assert all(lowest[one] <= highest[one] for one in shared)
    assert any(lowest[one] < highest[one] for one in shared)


def test_queries_without_a_formula_find_nothing(formulas: Retriever, demo: Path, cache: Path) -> None:
    for system in (formulas, answers(demo, cache, "last")):
        assert len(system.search(read_query("prime numbers"), 5)) == 0
        assert len(system.search(read_query(""), 5)) == 0


def test_the_largest_formula_of_the_title_is_the_query() -> None:
    made = (
        TopicFormula("q_1", "x", "title"),
        TopicFormula("q_2", "x^2", "title"),
        TopicFormula("q_3", "a+b+c+d", "question"),
    )
    query = topic_query(Topic("A.1", "", "", (), made), 1)
    found = largest_formula(query, official=False)
    assert found is not None
    assert found.latex == "x^2"
    body_only = topic_query(Topic("A.1", "", "", (), made[2:]), 1)
    assert largest_formula(body_only, official=False).latex == "a+b+c+d"  # type: ignore[union-attr]


def test_official_mathml_is_read_where_the_collection_was_read_from_it() -> None:
    formula = TopicFormula("q_1", "x", "question", "<math><mi>y</mi></math>")
    query = topic_query(Topic("B.1", "", "", (), (formula,), "q_1", "x"), 2)
    labels = [searched_formula(query, official).layout.label for official in (False, True)]  # type: ignore[union-attr]
    assert labels == ["V!x", "V!y"]
