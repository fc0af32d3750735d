"""The embedded index and the index in memory pass the conformance suite and find the same candidates."""

from __future__ import annotations

from pathlib import Path

import pytest

import porism
from porism.index.conformance import CHECKS, check_index
from porism.index.memory import MemoryDocumentStore, MemoryTermIndex, read_posts
from porism.index.protocols import Term
from porism.index.schema import THREAD
from porism.index.weighting import BM25
from porism.search.engine import Engine
from porism.search.index import Index

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


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_embedded_index_conforms(engine: Engine, check: object) -> None:
    check(engine.index.terms, engine.index.documents, SAMPLE)  # type: ignore[operator]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_index_in_memory_conforms(memory: Index, check: object) -> None:
    check(memory.terms, memory.documents, SAMPLE)  # type: ignore[operator]


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
