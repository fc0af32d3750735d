from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import porism
from porism.analysis.schema import FIELDS
from porism.search.engine import Engine
from porism.search.features.similarity import best_similarity, formulas_of
from porism.search.formulas.overlap import (
    FORMULAS_COMPARED,
    MAX_FORMULAS,
    MAX_THREADS,
    SimilarFormulas,
    bound_formulas,
    compare_formulas,
    compare_trees,
)
from porism.search.query import read_query
from porism.store.records import Ints, TermRows, Threads

Compare = Callable[[str, Ints], tuple[SimilarFormulas, ...]]


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


def test_a_post_gets_its_best_similarity_and_comments_do_not_count() -> None:
    answer, comment = (FIELDS.index(name) for name in ("answer", "answer_comments"))
    rows = TermRows(
        np.array([0, 2, 3]),
        np.array([2, 3, 3]),
        np.array([7, 9, 9], np.uint32),
        np.array([answer, answer, comment], np.uint8),
        np.ones(3, np.uint8),
        np.zeros((3, len(FIELDS)), np.int32),
    )
    found = SimilarFormulas(4, np.array([7, 9]), np.array([0.5, 0.75]))
    assert best_similarity(rows, found).tolist() == [0.75, 0.0, 0.0]


@pytest.fixture(scope="module")
def threads(engine: Engine) -> Threads:
    """All threads, with their formulas."""
    return engine.snapshot.threads(np.arange(engine.snapshot.info.count("thread")), ("formula",))


@pytest.fixture(scope="module")
def keys(threads: Threads) -> Ints:
    """The formulas of all threads."""
    return formulas_of(threads, np.arange(len(threads.numbers)))


@pytest.fixture(scope="module")
def compare(engine: Engine, threads: Threads) -> Compare:
    """Compares the formulas of a query with some formulas of threads."""
    return lambda text, keys: compare_formulas(read_query(text), keys, threads.lookup, engine.index.formulas)


def test_the_largest_formulas_are_compared(compare: Compare, keys: Ints) -> None:
    many = " ".join(f"$x^{number}+{number}y$" for number in range(2, 12))
    assert len(compare(f"{many} $x$", keys)) == MAX_FORMULAS
    assert compare("words and $x$ alone", keys) == ()
    assert compare("$a^2+b^2=c^2$", keys[:0]) == ()


def test_similar_formulas_occur_in_few_threads(threads: Threads, compare: Compare, keys: Ints) -> None:
    (found,) = compare("$a^2+b^2=c^2$", keys)
    assert found.similarities.max() > 1.0
    assert 0 < len(found.keys) <= FORMULAS_COMPARED
    frequencies = threads.lookup.documents("formula", found.keys)
    assert frequencies.min() >= 1
    assert frequencies.max() <= MAX_THREADS


def test_only_formulas_of_the_given_posts_are_compared(compare: Compare, keys: Ints) -> None:
    (found,) = compare("$a^2+b^2=c^2$", keys)
    (rest,) = compare("$a^2+b^2=c^2$", np.setdiff1d(keys, found.keys))
    assert not np.isin(rest.keys, found.keys).any()
    assert rest.similarities.max() < found.similarities.max()


def test_what_a_wildcard_binds_to_is_found_in_the_whole_index(engine: Engine, threads: Threads) -> None:
    searcher = engine.index.formulas
    (found,) = bound_formulas(read_query("$?a^2+?b^2=?c^2$"), searcher)
    numbers = threads.lookup.formulas(found.similar.keys)
    assert found.visual_ids
    assert set(found.visual_ids) <= set(engine.snapshot.formulas(numbers).visual_ids.tolist())
    assert bound_formulas(read_query("$a^2+b^2=c^2$"), searcher) == ()


def test_the_formulas_with_the_most_common_symbols_are_chosen(engine: Engine) -> None:
    searcher = engine.index.formulas
    rows = np.arange(searcher.size)
    few, all_rows = (compare_trees("a^2+b^2=c^2", searcher.batch(rows), searcher, limit) for limit in (10, len(rows)))
    assert len(few.positions) == 10
    assert few.similarities.max() == all_rows.similarities.max()
    assert few.similarities.mean() > all_rows.similarities.mean()


def test_a_formula_as_a_whole_is_a_reason(engine: Engine) -> None:
    query = r"$\frac{u+v}{2}\geq\sqrt{uv}$"
    hit = engine.search(query, k=1).hits[0]
    reasons = [part.reason for part in engine.explain(query, hit.id).parts]
    assert "the thread has formulas like yours" in reasons
