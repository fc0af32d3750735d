from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import porism
from porism.index.protocols import TermRows
from porism.index.schema import FIELDS
from porism.index.storage.rows import FIELD_SHIFT
from porism.search.engine import Engine
from porism.search.features.formula_overlap import best_similarity
from porism.search.formulas.overlap import MAX_FORMULAS, MAX_THREADS, SimilarFormulas
from porism.search.query import read_query


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


def test_a_post_gets_its_best_similarity_and_comments_do_not_count() -> None:
    answer, comment = (FIELDS.index(name) << FIELD_SHIFT | 1 for name in ("answer", "answer_comments"))
    rows = TermRows(
        np.array([0, 2, 3]),
        np.array([2, 3, 3]),
        np.array([7, 9, 9], np.uint32),
        np.array([answer, answer, comment], np.uint8),
        np.zeros((3, len(FIELDS)), np.int32),
    )
    found = SimilarFormulas(4, np.array([7, 9]), np.array([0.5, 0.75]))
    assert best_similarity(rows, found).tolist() == [0.75, 0.0, 0.0]


def test_the_largest_formulas_are_looked_up(engine: Engine) -> None:
    many = " ".join(f"$x^{number}+{number}y$" for number in range(2, 12))
    assert len(engine.index.similar_formulas(read_query(f"{many} $x$"))) == MAX_FORMULAS
    assert engine.index.similar_formulas(read_query("words and $x$ alone")) == ()


def test_similar_formulas_occur_in_few_threads(engine: Engine) -> None:
    (found,) = engine.index.similar_formulas(read_query("$a^2+b^2=c^2$"))
    assert found.similarities.max() > 1.0
    frequencies = engine.index.terms.frequencies("formula", found.codes)
    assert frequencies.min() >= 1
    assert frequencies.max() <= MAX_THREADS


def test_a_formula_as_a_whole_is_a_reason(engine: Engine) -> None:
    query = r"$\frac{u+v}{2}\geq\sqrt{uv}$"
    hit = engine.search(query, k=1).hits[0]
    reasons = [part.reason for part in engine.explain(query, hit.id).parts]
    assert "the thread has formulas like yours" in reasons
