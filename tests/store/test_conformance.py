"""The embedded index and the index in memory pass the conformance suite and find the same candidates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import porism
from porism.analysis.schema import THREAD
from porism.search.engine import Engine
from porism.search.index import Index
from porism.store.conformance import CHECKS, FORMULA_CHECKS, check_formulas, check_index
from porism.store.memory.formulas import MemoryFormulas
from porism.store.memory.posts import MemoryDocumentStore, MemoryTermIndex, read_posts
from porism.store.protocols import FormulaStore, Term
from porism.store.weighting import BM25

SAMPLE = (
    Term("words", "triangl", 2.0),
    Term("words", "prove"),
    Term("pairs", "right_triangl"),
    Term("tag", "geometry", 0.5),
    Term("words", "prime", 1.5),
)


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


@pytest.fixture(scope="module")
def memory(engine: Engine) -> Index:
    posts = read_posts(engine.collection)
    terms = MemoryTermIndex(posts)
    documents = MemoryDocumentStore(posts, terms, engine.collection)
    return Index(terms, documents, engine.index.formulas, engine.index.concepts)


@pytest.fixture(scope="module")
def formulas(engine: Engine) -> MemoryFormulas:
    return MemoryFormulas(engine.collection)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_embedded_index_conforms(engine: Engine, check: object) -> None:
    check(engine.index.terms, engine.index.documents, SAMPLE)  # type: ignore[operator]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_index_in_memory_conforms(memory: Index, check: object) -> None:
    check(memory.terms, memory.documents, SAMPLE)  # type: ignore[operator]


@pytest.mark.parametrize("check", FORMULA_CHECKS, ids=lambda check: check.__name__)
def test_the_embedded_formulas_conform(engine: Engine, check: Callable[[FormulaStore], None]) -> None:
    check(engine.index.formulas.store)


@pytest.mark.parametrize("check", FORMULA_CHECKS, ids=lambda check: check.__name__)
def test_the_formulas_in_memory_conform(formulas: MemoryFormulas, check: Callable[[FormulaStore], None]) -> None:
    check(formulas)


def test_the_suite_rejects_wrong_formulas(formulas: MemoryFormulas) -> None:
    class Wrong:
        """Returns the formulas of a batch in ascending order."""

        def __getattr__(self, name: str) -> object:
            return getattr(formulas, name)

        def fetch(self, rows: npt.NDArray[np.int64]) -> object:
            return formulas.fetch(np.sort(rows))

    with pytest.raises(AssertionError, match="order requested"):
        check_formulas(Wrong())  # type: ignore[arg-type]


def test_both_formula_stores_hold_the_same(engine: Engine, formulas: MemoryFormulas) -> None:
    embedded = engine.index.formulas.store
    rows = list(range(embedded.formulas))
    assert formulas.formulas == embedded.formulas
    assert formulas.trees(rows) == embedded.trees(rows)
    assert formulas.latex(rows) == embedded.latex(rows)
    for label, number in embedded.labels.items():
        assert embedded.layout_weights[number] == pytest.approx(formulas.layout_weights[formulas.labels[label]])
        assert embedded.operator_weights[number] == pytest.approx(formulas.operator_weights[formulas.labels[label]])
    keys = np.unique(formulas.fetch(np.array(rows)).paths.keys)
    assert embedded.inverse_path_frequency(keys) == pytest.approx(formulas.inverse_path_frequency(keys))


def test_the_suite_rejects_a_wrong_index(engine: Engine) -> None:
    class Wrong:
        """Omits the last hit."""

        def __getattr__(self, name: str) -> object:
            return getattr(engine.index.terms, name)

        def search(self, *arguments: object, **options: object) -> object:
            found = engine.index.terms.search(*arguments, **options)  # type: ignore[arg-type]
            return found._replace(rows=found.rows[:-1], scores=found.scores[:-1])

    with pytest.raises(AssertionError):
        check_index(Wrong(), engine.index.documents, SAMPLE)  # type: ignore[arg-type]


def test_both_find_the_same_candidates(engine: Engine, memory: Index) -> None:
    for term in SAMPLE:
        one, other = (index.terms.search([term], THREAD, BM25(), 50) for index in (engine.index, memory))
        assert one.rows.tolist() == other.rows.tolist()
        assert one.scores == pytest.approx(other.scores)
