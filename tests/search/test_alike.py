from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import porism
from porism.search.answers.alike import MOST, MOST_POSTS, Alike, alike_scores
from porism.search.engine import Engine
from porism.search.query import read_query


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


def test_each_formula_gives_its_best_likeness_squared() -> None:
    one = Alike(9, np.array([7, 7, 5]), np.array([70, 71, 5]), np.array([0.5, 1.0, 0.25]))
    two = Alike(4, np.array([7]), np.array([70]), np.array([0.5]))
    threads, answers = alike_scores((one, two), np.array([5, 6, 7]), np.array([71, 70, 69]))
    nine, four = np.log(9), np.log(4)
    assert threads == pytest.approx([nine / 16, 0, nine + four / 4])
    assert answers == pytest.approx([nine, nine / 4 + four / 4, 0])


def test_no_formula_gives_nothing() -> None:
    threads, answers = alike_scores((), np.array([5, 6]), np.array([], np.int64))
    assert threads.tolist() == [0.0, 0.0]
    assert answers.tolist() == []


def test_the_largest_formulas_are_looked_for(engine: Engine) -> None:
    many = " ".join(f"$x^{number}+{number}y$" for number in range(2, 12))
    assert len(engine.searcher.alike.find(read_query(f"{many} $x$"))) == MOST
    assert engine.searcher.alike.find(read_query("words and $x$ alone")) == ()


def test_places_are_those_of_posts_that_hold_the_formula(engine: Engine) -> None:
    (found,) = engine.searcher.alike.find(read_query("$a^2+b^2=c^2$"))
    best = int(np.argmax(found.likeness))
    latex = [one.latex for one in engine.collection.formulas_of(int(found.posts[best]))]
    assert found.likeness[best] > 1.0
    assert "a^2+b^2=c^2" in latex
    assert engine.collection.post(int(found.posts[best])).thread_id == found.threads[best]
    held, numbers = np.unique(found.posts, return_counts=True)
    assert len(held) > 1
    assert numbers.max() < MOST_POSTS


def test_a_formula_as_a_whole_is_a_reason(engine: Engine) -> None:
    query = r"$\frac{u+v}{2}\geq\sqrt{uv}$"
    hit = engine.search(query, k=1).hits[0]
    reasons = [part.reason for part in engine.explain(query, hit.id).parts]
    assert "formulas of the thread like those of the query as wholes" in reasons
