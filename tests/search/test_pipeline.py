"""One pipeline: the engine, the default system, declared systems and fusions search, score, explain and fail in the
same way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import porism
from porism.errors import PorismError
from porism.search.engine import Engine
from porism.search.features import all_features
from porism.search.features.feature import Feature
from porism.search.query import ReadQuery, read_query
from porism.search.retrieval.candidates import TermRetriever
from porism.search.retriever import NamedPart, Pipeline, Ranking, Reranker, Retriever, fuse
from porism.store.weighting import BM25, BM25Plus, TfIdf, TfIdfWeighting
from porism.systems.declared.context import SystemContext
from porism.systems.declared.declaration import find_declaration, shipped
from porism.systems.declared.describe import drawing
from porism.systems.loading import DEFAULT, load_system

QUERY = read_query(r"proof that $\sqrt{2}$ is irrational")


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


def context(engine: Engine, folder: Path, task: int = 1) -> SystemContext:
    return SystemContext(engine.index, task, folder)


class Fixed(Retriever):
    """Finds the same posts for every query."""

    def __init__(self, ids: Sequence[int]) -> None:
        self._ids = ids

    def search(self, query: ReadQuery, k: int) -> Ranking:
        return Ranking.of({number: float(number) for number in self._ids}, k)


class Negated(Reranker):
    """The other way round; it scores every item that it is given."""

    notes = ("negated",)

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        return Ranking.sorted(ranking.ids, -ranking.ids.astype(np.float64))


class Broken(Reranker):
    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        raise KeyError("lost")


def test_the_default_engine_is_the_first_declaration() -> None:
    assert (shipped()[0].name, DEFAULT) == ("porism", "porism")
    assert [find_declaration("porism", task).status for task in (1, 2, 3)] == ["default engine"] * 3
    assert "porism" not in {one.name for one in shipped() if one.is_published}


def test_every_way_to_search_is_one_class(engine: Engine, tmp_path: Path) -> None:
    words = TermRetriever(engine.index, ("words",))
    ways = [
        engine.pipelines["answers"],
        load_system("porism", context(engine, tmp_path)),
        load_system("porism", context(engine, tmp_path, 2)),
        load_system("MSM/TF-IDF", context(engine, tmp_path)),
        fuse(words, words),
        words >> Negated(),
    ]
    assert {type(way) for way in ways} == {Pipeline}


def test_the_declared_default_ranks_as_the_engine(engine: Engine, tmp_path: Path) -> None:
    declared = load_system("porism", context(engine, tmp_path))
    found, ours = declared.search(QUERY, 100), engine.rank(QUERY).top(100)
    assert found.ids.tolist() == ours.ids.tolist()
    assert found.scores == pytest.approx(ours.scores, rel=1e-5)


def test_given_posts_get_the_scores_of_the_search(engine: Engine, tmp_path: Path) -> None:
    declared = load_system("porism", context(engine, tmp_path))
    found = declared.search(QUERY, 1000)
    some = found.ids[[0, 5, 2]].tolist()
    scored = declared.score(QUERY, some)
    assert scored.ids.tolist() == [some[0], some[2], some[1]]
    assert scored.scores == pytest.approx(found.scores[[0, 2, 5]], rel=1e-5)


def test_a_post_that_the_first_part_misses_is_scored_by_the_last() -> None:
    pipeline = Fixed([3, 5]) >> Negated()
    assert pipeline.score(QUERY, [5, 9, 1]).ids.tolist() == [1, 5, 9]
    assert Fixed([3, 5]).score(QUERY, [5, 9]).ids.tolist() == [5, 9]
    assert pipeline.notes == ("negated",)


def test_a_post_that_is_in_no_thread_comes_last(engine: Engine, tmp_path: Path) -> None:
    scored = load_system("porism", context(engine, tmp_path)).score(QUERY, [754, 999_999_999])
    assert scored.ids.tolist() == [754, 999_999_999]
    assert scored.scores[1] <= 0 < scored.scores[0]


def test_a_pipeline_explains_as_the_engine(engine: Engine, tmp_path: Path) -> None:
    ours = engine.explain(r"proof that $\sqrt{2}$ is irrational", 754)
    declared = load_system("porism", context(engine, tmp_path)).explain(
        engine.read(r"proof that $\sqrt{2}$ is irrational"), 754
    )
    assert sum(part.value for part in declared.parts) == pytest.approx(declared.value)
    assert [part.reason for part in declared.parts] == [part.reason for part in ours.parts]


def test_an_error_names_the_system_and_the_part() -> None:
    named = Pipeline([NamedPart("fixed", Fixed([1])), NamedPart("broken", Broken())], "mine/run")
    with pytest.raises(PorismError) as caught:
        named.search(QUERY, 5)
    assert str(caught.value).startswith("mine/run, part broken: failed: KeyError: 'lost'\n  fix: ")
    with pytest.raises(KeyError):
        (Fixed([1]) >> Broken()).search(QUERY, 5)


def test_a_pipeline_starts_with_a_retriever() -> None:
    with pytest.raises(TypeError, match="a retriever, then re-rankers"):
        Pipeline([NamedPart("negated", Negated())])


@pytest.mark.parametrize("weighting", [BM25(k1=0.9, b=0.4), BM25Plus(), TfIdf(tf="raw", idf="lucene")], ids=str)
def test_the_engine_takes_another_weighting(engine: Engine, weighting: TfIdfWeighting) -> None:
    other = Engine(engine.snapshot, weighting=weighting)
    usual, changed = engine.rank(QUERY), other.rank(QUERY)
    assert len(changed)
    assert changed.scores[:5].tolist() != usual.scores[:5].tolist()
    explanation = other.explain(r"proof that $\sqrt{2}$ is irrational", int(changed.ids[0]))
    assert sum(part.value for part in explanation.parts) == pytest.approx(explanation.value)


def test_any_weighting_is_computed_as_bm25_is(engine: Engine) -> None:
    class SlowBM25:
        """BM25 by the path of other weightings."""

        idf = "lucene"

        def strength(self, counts: object, lengths: object, mean_length: float) -> object:
            return BM25(b=0.3).strength(counts, lengths, mean_length)  # type: ignore[arg-type]

        weigh = BM25(b=0.3).weigh

    compiled = Engine(engine.snapshot, weighting=BM25(b=0.3)).features(QUERY, "questions").values
    slow = Engine(engine.snapshot, weighting=SlowBM25()).features(QUERY, "questions").values  # type: ignore[arg-type]
    for name in ("thread.words", "title.words", "thread.tuples", "answer.words"):
        assert slow[name] == pytest.approx(compiled[name], rel=1e-4), name


class AboutTheBest(Feature):
    """1 for the thread that is best so far: a feature of a later stage in one class."""

    name = "best.so.far"
    stage = 1
    prepares = "best thread"

    def prepare(self, batch, so_far):  # type: ignore[no-untyped-def]
        return so_far.best_threads("questions", 1)

    def compute(self, batch):  # type: ignore[no-untyped-def]
        values = np.zeros(batch.thread_count, np.float32)
        values[batch.context.prepared["best thread"]] = 1.0
        return values


def test_a_feature_of_a_later_stage_is_one_class(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    features = tuple(sorted((*all_features(), AboutTheBest()), key=lambda one: one.name))
    for module in ("features", "answers.reranker"):
        monkeypatch.setattr(f"porism.search.{module}.all_features", lambda: features)
    table = Engine(engine.snapshot).features(QUERY, "questions")
    assert table.values["best.so.far"].sum() == 1.0


def test_a_system_draws_its_parts_and_members() -> None:
    for one in shipped():
        if one.parts:
            picture = drawing(one)
            assert picture.startswith("<svg "), one.name
            assert all(f">{part.use}</text>" in picture for part in one.parts), one.name
            assert all(f">{member}</text>" in picture for member in one.members), one.name
