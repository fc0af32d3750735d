from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import porism
from porism.analysis.schema import FIELDS
from porism.search.engine import Engine
from porism.search.features.formula_overlap import best_similarity, formulas_of
from porism.search.formulas.overlap import FORMULAS_COMPARED, MAX_FORMULAS, MAX_THREADS, SimilarFormulas
from porism.search.query import read_query
from porism.store.embedded.storage.rows import FIELD_SHIFT
from porism.store.protocols import TermRows


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


@pytest.fixture(scope="module")
def codes(engine: Engine) -> npt.NDArray[np.int64]:
    """The formulas of all threads."""
    threads = np.arange(engine.index.documents.size("thread"))
    return formulas_of(engine.index.documents.fetch(threads, ("formula",)), threads)


def test_the_largest_formulas_are_compared(engine: Engine, codes: npt.NDArray[np.int64]) -> None:
    many = " ".join(f"$x^{number}+{number}y$" for number in range(2, 12))
    assert len(engine.index.compare_formulas(read_query(f"{many} $x$"), codes)) == MAX_FORMULAS
    assert engine.index.compare_formulas(read_query("words and $x$ alone"), codes) == ()
    assert engine.index.compare_formulas(read_query("$a^2+b^2=c^2$"), codes[:0]) == ()


def test_similar_formulas_occur_in_few_threads(engine: Engine, codes: npt.NDArray[np.int64]) -> None:
    (found,) = engine.index.compare_formulas(read_query("$a^2+b^2=c^2$"), codes)
    assert found.similarities.max() > 1.0
    assert 0 < len(found.codes) <= FORMULAS_COMPARED
    frequencies = engine.index.terms.frequencies("formula", found.codes)
    assert frequencies.min() >= 1
    assert frequencies.max() <= MAX_THREADS


def test_only_formulas_of_the_given_posts_are_compared(engine: Engine, codes: npt.NDArray[np.int64]) -> None:
    query = read_query("$a^2+b^2=c^2$")
    (found,) = engine.index.compare_formulas(query, codes)
    others = np.setdiff1d(codes, found.codes)
    (rest,) = engine.index.compare_formulas(query, others)
    assert not np.isin(rest.codes, found.codes).any()
    assert rest.similarities.max() < found.similarities.max()


def test_what_a_wildcard_binds_to_is_found_in_the_whole_index(engine: Engine) -> None:
    (found,) = engine.index.bound_formulas(read_query("$?a^2+?b^2=?c^2$"))
    numbers = engine.index.terms.numbers("formula", found.similar.codes)
    assert found.visual_ids
    assert set(found.visual_ids) <= set(numbers.tolist())
    assert engine.index.bound_formulas(read_query("$a^2+b^2=c^2$")) == ()


def test_the_formulas_with_the_most_common_symbols_are_chosen(engine: Engine) -> None:
    searcher = engine.index.formulas
    rows = np.arange(searcher.store.formulas)
    few, all_rows = (searcher.comparison(rows, limit).compare("a^2+b^2=c^2") for limit in (10, len(rows)))
    assert len(few.positions) == 10
    assert few.similarities.max() == all_rows.similarities.max()
    assert few.similarities.mean() > all_rows.similarities.mean()


def test_a_formula_as_a_whole_is_a_reason(engine: Engine) -> None:
    query = r"$\frac{u+v}{2}\geq\sqrt{uv}$"
    hit = engine.search(query, k=1).hits[0]
    reasons = [part.reason for part in engine.explain(query, hit.id).parts]
    assert "the thread has formulas like yours" in reasons
