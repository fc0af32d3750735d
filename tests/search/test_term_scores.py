"""BM25 of threads and answers, as a loop over the stored counts computes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import porism
from porism.analysis.schema import ANSWER, FIELDS, THREAD, View
from porism.search.engine import Engine
from porism.search.query import Kind, read_query
from porism.search.retrieval.context import CandidateBatch
from porism.search.retrieval.query_terms import ANSWER_VIEWS, QUESTION_VIEWS

K1, THREAD_B, ANSWER_B = 1.2, 0.75, 0.4
QUERY = "why is the square root of $\\sqrt{2}$ irrational, with a proof for $a^2+b^2=c^2$"


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


def bm25(batch: CandidateBatch, family: str, posts: range, view: View, b: float) -> float:
    """Return BM25 of the query's terms in some posts together."""
    rows, terms, weights = batch.documents.terms[family], batch.context.terms[family], view.vector(FIELDS)
    mean = batch.context.index.snapshot.info.lengths(family, view).mean_length
    length = sum(float(np.dot(weights, rows.lengths[post])) for post in posts)
    counts = dict.fromkeys(terms.keys.tolist(), 0.0)
    for post in posts:
        for at in range(int(rows.starts[post]), int(rows.ends[post])):
            if int(rows.keys[at]) in counts:
                counts[int(rows.keys[at])] += weights[rows.fields[at]] * rows.counts[at]
    norm = K1 * (1 - b + b * length / mean)
    found = zip(terms.scores.tolist(), counts.values(), strict=True)
    return sum(score * (K1 + 1) * count / (count + norm) for score, count in found if count)


@pytest.mark.parametrize("family", ["words", "tuples"])
@pytest.mark.parametrize(("kind", "view"), [("questions", THREAD), ("answers", ANSWER_VIEWS["thread"])])
def test_threads(engine: Engine, family: str, kind: Kind, view: View) -> None:
    batch = engine.features(read_query(QUERY), kind).batch
    found = batch.term_scores(family, "thread")
    assert found.any()
    for thread in range(0, batch.thread_count, 3):
        posts = range(int(batch.documents.starts[thread]), int(batch.documents.ends[thread]))
        assert found[thread] == pytest.approx(bm25(batch, family, posts, view, THREAD_B), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("family", ["words", "tuples"])
def test_the_length_of_answers_counts_less(engine: Engine, family: str) -> None:
    batch = engine.features(read_query(QUERY), "answers").batch
    found = batch.term_scores(family, "answer")
    assert found.any()
    for at, post in list(enumerate(batch.answer_posts.tolist()))[::3]:
        expected = bm25(batch, family, range(post, post + 1), ANSWER, ANSWER_B)
        assert found[at] == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_in_the_thread_of_an_answer_other_answers_count_less() -> None:
    of_question, of_answer = (dict(views["thread"].weights) for views in (QUESTION_VIEWS, ANSWER_VIEWS))
    assert of_answer["answer"] < of_question["answer"]
    assert "answer_comments" not in of_answer
    assert {field: of_answer[field] for field in of_answer if field != "answer"} == {
        field: weight for field, weight in of_question.items() if not field.startswith("answer")
    }
