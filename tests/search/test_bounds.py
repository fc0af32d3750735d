"""The work of a query is bounded: how many threads are fetched and how many formulas compared does not depend on the
collection."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import porism
from porism.search.answers import reranker
from porism.search.answers.reranker import FeatureReranker, load_model
from porism.search.engine import Engine
from porism.search.formulas import overlap
from porism.search.query import KINDS, Kind, ReadQuery, read_query
from porism.search.retrieval.candidates import ThreadCandidates
from porism.search.retrieval.context import Contexts, QueryContext

QUERY = read_query(r"proof that $\sqrt{2}$ is irrational, with $a^2=2b^2$", tags=("irrational-numbers",))


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


def parts(engine: Engine, kind: Kind) -> tuple[ThreadCandidates, FeatureReranker]:
    contexts = Contexts(engine.index)
    return ThreadCandidates(contexts), FeatureReranker(engine.index, load_model(), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_best_candidates_and_a_sample_are_fetched(
    engine: Engine, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reranker, "RERANKED", 5)
    monkeypatch.setattr(reranker, "SAMPLED", 3)
    find, rank = parts(engine, kind)
    found = find.find(QUERY, rank.depth)
    threads = rank.choose(found)
    scored = rank.score_threads(QueryContext(QUERY, engine.index), threads)
    assert len(found) > 8
    assert (len(threads.ranked), len(threads.sample)) == (5, 3)
    assert len(threads.sample) * threads.sample_weight == pytest.approx(len(found) - 5)
    assert scored.table.batch.thread_count == 8
    ranked = engine.snapshot.locate(scored.ranking(kind).ids).threads
    assert len(ranked)
    assert set(ranked.tolist()) <= set(threads.ranked.tolist())


def test_a_sample_of_all_candidates_gives_the_exact_deviations(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    find, rank = parts(engine, "answers")
    found = find.find(QUERY, rank.depth)
    factors = []
    for ranked, sampled in ((10_000, 1), (30, 10_000)):
        monkeypatch.setattr(reranker, "RERANKED", ranked)
        monkeypatch.setattr(reranker, "SAMPLED", sampled)
        table = rank.score_threads(QueryContext(QUERY, engine.index), rank.choose(found)).table
        factors.append(table.scales("answers", engine.snapshot.info.count("answer")))
    assert factors[1] == pytest.approx(factors[0], rel=1e-4)


def test_a_bounded_number_of_formulas_is_compared(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    compare = overlap.compare_formulas

    def recorded(query: ReadQuery, keys: np.ndarray[tuple[int], np.dtype[np.int64]], *more: object) -> object:
        compared.append(len(keys))
        return compare(query, keys, *more)  # type: ignore[arg-type]

    monkeypatch.setattr("porism.search.features.similarity.compare_formulas", recorded)
    find, rank = parts(engine, "answers")
    threads = rank.choose(find.find(QUERY, rank.depth))
    rank.score_threads(QueryContext(QUERY, engine.index), threads)
    monkeypatch.setattr("porism.search.features.similarity.THREADS_COMPARED", 3)
    rank.score_threads(QueryContext(QUERY, engine.index), threads)
    assert 0 < compared[1] < compared[0]


@pytest.mark.parametrize(
    "query", [r"$\frac{u+v}{2}\geq\sqrt{uv}$", "$?a^2+?b^2=?c^2$", r"proof that $\sqrt{2}$ is irrational"]
)
def test_explanations_sum_to_the_score(engine: Engine, query: str) -> None:
    for hit in engine.search(query, k=5).hits:
        assert engine.explain(query, hit.id).value == pytest.approx(hit.score, rel=1e-4)
