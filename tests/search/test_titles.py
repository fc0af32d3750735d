from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import porism
from porism.search.engine import Engine
from porism.search.features.terms import LEAST, SHARPNESS, TitleIdentity
from porism.search.query import read_query


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


def test_a_query_with_the_words_and_formulas_of_a_title_has_the_value_one(engine: Engine) -> None:
    for post, _ in zip(engine.content.posts("question"), range(5), strict=False):
        table = engine.features(read_query(post.title.plain()), "questions")
        values = table.values["title.identity"]
        at = table.batch.ids("questions").tolist().index(post.id)
        assert values[at] == pytest.approx(table.batch.context.best_match, rel=1e-3)
        assert engine.search(post.title.plain(), k=1, kind="questions").hits[0].id == post.id


def test_a_title_that_shares_some_words_counts_nothing(engine: Engine) -> None:
    values = engine.features(read_query("a triangle and many other words about geometry"), "questions").values
    found = values["title.identity"]
    assert np.all((found == 0) | (found >= LEAST**SHARPNESS - 1e-6))
    assert np.count_nonzero(found) < 3


def test_titles_that_are_ruled_out_by_what_they_share_have_the_value_zero(engine: Engine) -> None:
    feature = TitleIdentity()
    ruled_out = 0
    for post, _ in zip(engine.content.posts("question"), range(20), strict=False):
        batch = engine.features(read_query(post.title.plain()), "questions").batch
        every = (feature._overlaps(batch, np.arange(batch.thread_count)) * batch.context.best_match).astype(np.float32)
        assert feature.compute(batch).tolist() == every.tolist()
        ruled_out += batch.thread_count - len(feature._possible(batch))
    assert ruled_out
