"""Retrievers compose: re-ranking, fusion, and a retriever of one's own; all pass the conformance suite."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import porism
from porism.analysis.schema import ANSWER
from porism.evaluate.fusion import ScoredIds
from porism.search.conformance import check_retriever
from porism.search.default import porism as default_system
from porism.search.default import porism_formulas
from porism.search.engine import Engine
from porism.search.fusion import RRF, CombMNZ, CombSum, Convex, Fusion, ScoreRRF
from porism.search.index import Index
from porism.search.query import ReadQuery, read_query
from porism.search.retrieval.candidates import TermRetriever
from porism.search.retriever import Ranking, Reranker, Retriever, fuse
from porism.store.records import Term, TermQuery
from porism.store.weighting import BM25, BM25Plus, QueryLikelihood


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


class ByAge(Reranker):
    """Oldest posts first."""

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        return Ranking.of((hit.id, -float(hit.id)) for hit in ranking)


class Rarest(Retriever):
    """Answers that contain the rarest word of the query."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def search(self, query: ReadQuery, k: int) -> Ranking:
        terms = [Term("words", word) for word in query.title.lower().split()]
        documents = self.index.snapshot.statistics(terms).documents.tolist()
        known = sorted((number, at) for at, number in enumerate(documents) if number)
        found = self.index.snapshot.search([TermQuery([terms[at] for _, at in known[:1]], ANSWER, k)])[0]
        return Ranking.of(zip(found.numbers.tolist(), found.scores.tolist(), strict=True), k)


def systems(index: Index) -> dict[str, Retriever]:
    words, tuples = TermRetriever(index, ("words",)), TermRetriever(index, ("tuples",), BM25Plus())
    return {
        "porism": default_system(index),
        "porism questions": default_system(index, "questions"),
        "formulas": porism_formulas(index),
        "words": words,
        "likelihood": TermRetriever(index, ("words", "pairs"), QueryLikelihood()),
        "answers": TermRetriever(index, ("words",), view=ANSWER),
        "fused": fuse(words, tuples),
        "nested": fuse(fuse(words, tuples, method=CombSum()), default_system(index), method=RRF(k=10)),
        "reranked": words >> ByAge(),
        "own": Rarest(index),
    }


def test_every_retriever_conforms(engine: Engine, subtests: pytest.Subtests) -> None:
    for name, retriever in systems(engine.index).items():
        with subtests.test(name):
            check_retriever(retriever)


def test_the_engine_is_the_system_porism(engine: Engine) -> None:
    for kind in ("answers", "questions"):
        query = read_query("right triangle $a^2+b^2=c^2$")
        ours = default_system(engine.index, kind).search(query, 20)  # type: ignore[arg-type]
        assert ours.ids.tolist() == [hit.id for hit in engine.search("right triangle $a^2+b^2=c^2$", 20, kind).hits]  # type: ignore[arg-type]


def test_a_pipeline_prints_as_its_composition(engine: Engine) -> None:
    words = TermRetriever(engine.index, ["words"], BM25(k1=0.9))
    assert repr(words) == "TermRetriever(['words'], BM25(k1=0.9, b=0.75), thread view)"
    assert repr(words >> ByAge()) == f"{words!r} >> ByAge()"
    assert repr(fuse(words, Rarest(engine.index), method=RRF(k=10))) == f"fuse({words!r}, Rarest(), method={RRF(k=10)})"
    assert repr(default_system(engine.index)) == "ThreadCandidates() >> FeatureReranker(kind='answers')"


def test_a_reranker_orders_what_the_retriever_finds(engine: Engine) -> None:
    words = TermRetriever(engine.index, ("words",))
    query = read_query("triangle")
    found, ordered = words.search(query, 1000), (words >> ByAge()).search(query, 1000)
    assert sorted(found.ids.tolist()) == ordered.ids.tolist()


@pytest.mark.parametrize(
    "method", [RRF(), RRF(k=10, weights=(2.0, 1.0)), ScoreRRF(), CombSum(), CombMNZ(), Convex()], ids=str
)
def test_a_fusion_prints_as_itself(method: Fusion) -> None:
    assert eval(str(method)) == method
    one, other = ScoredIds(np.array([1, 2]), np.array([3.0, 1.0])), ScoredIds(np.array([2]), np.array([5.0]))
    assert set(method.fuse([one, other]).ids.tolist()) == {1, 2}


def test_a_fusion_needs_one_weight_for_each_ranking() -> None:
    with pytest.raises(ValueError, match="2 weights for 1 rankings; give one for each"):
        RRF(weights=(1.0, 2.0)).fuse([ScoredIds(np.array([1]), np.array([1.0]))])
    with pytest.raises(ValueError, match="fuse needs at least one retriever"):
        fuse()


def test_equal_scores_are_in_the_order_of_trec_eval() -> None:
    ranking = Ranking.of({9: 1.0, 10: 1.0, 2: 3.0})
    assert ranking.ids.tolist() == [2, 9, 10]
    assert [hit.id for hit in ranking.top(2)] == [2, 9]


def test_the_suite_rejects_a_wrong_retriever() -> None:
    class Twice(Retriever):
        def search(self, query: ReadQuery, k: int) -> Ranking:
            return Ranking(np.array([1, 1][:k]), np.array([1.0, 1.0][:k]))

    class Rising(Retriever):
        def search(self, query: ReadQuery, k: int) -> Ranking:
            return Ranking(np.array([1, 2][:k]), np.array([1.0, 2.0][:k]))

    with pytest.raises(AssertionError, match="an id is ranked twice"):
        check_retriever(Twice())
    with pytest.raises(AssertionError, match="scores must not rise"):
        check_retriever(Rising())
