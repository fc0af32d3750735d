"""The store in memory and the embedded one give the same answers: rankings, pages, explanations, spelling and
completion on the sample, and after any changes."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import porism
from porism.corpus.sources.raw import RawLink, Record
from porism.corpus.topics.files import read_topics
from porism.records import Explanation
from porism.search.display.results import Results, SearchHit
from porism.search.engine import Engine
from porism.search.formulas.searcher import MODES, Mode
from porism.search.query import Kind, ReadQuery, read_query
from porism.store import store_of_texts
from porism.store.embedded.segments.merging import merge
from porism.store.memory.store import MemoryStore
from porism.store.protocols import Writer
from porism.store.weighting import BM25
from store.segments.answers import Answer, answers_of
from store.segments.site import QUERIES as SITE_QUERIES
from store.segments.site import Site
from store.stores import SAMPLE, empty_embedded_store, sample_in_memory

QUERIES = 200
K = 20
TYPED = (
    "proof that $\\sqrt{2}$ is irrational",
    "right triangle $a^2+b^2=c^2$",
    '"right triangle" hypotenuse',
    "triangle -circle tag:geometry",
    "sum $?x^2+?y^2$",
    "irational number",
)
FORMULAS = ("a^2+b^2=c^2", r"\sum_{k=1}^n k", "?x^2", r"\frac{1}{n}", r"\int_0^1 x^2\,dx", "x")


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


@pytest.fixture(scope="module")
def memory() -> Engine:
    store = sample_in_memory()
    return Engine(store.snapshot(), store=store)


def queries(engine: Engine) -> list[ReadQuery]:
    """Topics as whole posts, and titles of questions as typed queries."""
    topics = read_topics(SAMPLE / "topics" / "task1.xml")
    found = [read_query(topic.title, topic.question, topic.tags) for topic in topics]
    found += [read_query(post.title.plain()) for post in engine.content.posts("question")]
    return found[:QUERIES]


@pytest.mark.parametrize("kind", ["answers", "questions"])
def test_the_rankings_are_the_same(engine: Engine, memory: Engine, kind: Kind) -> None:
    compared = 0
    for query in queries(engine)[kind == "questions" :: 2]:
        one, other = engine.rank(query, kind).top(K), memory.rank(query, kind).top(K)
        assert one.scores == pytest.approx(other.scores, rel=1e-2), query.title
        apart = np.flatnonzero(one.ids != other.ids)  # only where scores are equal but for rounding
        assert one.scores[apart] == pytest.approx(other.scores[apart], rel=1e-2), query.title
        assert len(apart) <= 2, query.title
        compared += 1
    assert compared == QUERIES // 2


@pytest.mark.parametrize("mode", MODES)
def test_formula_rankings_are_the_same(engine: Engine, memory: Engine, mode: Mode) -> None:
    for latex in FORMULAS:
        one, other = (index.formulas(latex, K, mode) for index in (engine, memory))
        assert [hit.latex for hit in one.hits] == [hit.latex for hit in other.hits], latex
        assert [hit.score for hit in one.hits] == pytest.approx([hit.score for hit in other.hits], rel=1e-6)
        assert [replace(hit, score=0.0) for hit in one.hits] == [replace(hit, score=0.0) for hit in other.hits]


@pytest.mark.parametrize("typed", TYPED)
def test_pages_are_the_same(engine: Engine, memory: Engine, typed: str) -> None:
    for options in ({}, {"kind": "questions"}, {"offset": 10, "group": True}, {"sort": "votes"}, {"accepted": True}):
        one, other = (index.search(typed, **options) for index in (engine, memory))
        assert shown(one) == shown(other)
        assert [hit.score for hit in one.hits] == pytest.approx([hit.score for hit in other.hits], rel=1e-3)
    assert engine.ask(typed).text == memory.ask(typed).text


def shown(results: Results) -> Results:
    """Return what a page shows, without times and scores."""
    hits = tuple(
        replace(hit, score=0.0, more=tuple(replace(one, score=0.0) for one in hit.more)) for hit in results.hits
    )
    return replace(results, hits=hits, seconds=0.0)


def test_explanations_are_the_same(engine: Engine, memory: Engine) -> None:
    for typed in TYPED[:2]:
        for hit in engine.search(typed, 3).hits:
            assert_same_explanation(engine.explain(typed, hit.id), memory.explain(typed, hit.id))


def assert_same_explanation(one: Explanation, other: Explanation) -> None:
    """Fail if two explanations give other reasons or values."""
    assert one.reason == other.reason
    assert one.value == pytest.approx(other.value, rel=1e-3, abs=1e-4)
    for first, second in zip(one.parts, other.parts, strict=True):
        assert_same_explanation(first, second)


def test_spelling_and_completion_are_the_same(engine: Engine, memory: Engine) -> None:
    for typed in ("irational", "tringle inequalty", "pythagorian theorem", "zzzqqq"):
        assert engine.search(typed).reading == memory.search(typed).reading
    for typed in ("pyth", "tri", "a^2", "geo"):
        assert engine.complete(typed) == memory.complete(typed)


class Both:
    """Writes the same changes into two stores."""

    def __init__(self, writers: Iterable[Writer]) -> None:
        self._writers = tuple(writers)

    def put(self, records: Iterable[Record]) -> None:
        found = list(records)
        for writer in self._writers:
            writer.put(found)

    def delete(self, posts: Iterable[int]) -> None:
        found = list(posts)
        for writer in self._writers:
            writer.delete(found)

    def delete_comments(self, comments: Iterable[int]) -> None:
        found = list(comments)
        for writer in self._writers:
            writer.delete_comments(found)

    def delete_links(self, links: Iterable[RawLink]) -> None:
        found = list(links)
        for writer in self._writers:
            writer.delete_links(found)


@given(st.integers(0, 10_000), st.lists(st.integers(1, 4), min_size=1, max_size=3))
@settings(max_examples=3, deadline=None, phases=[Phase.generate], derandomize=True)
def test_after_any_changes_both_stores_answer_the_same(
    tmp_path_factory: pytest.TempPathFactory, seed: int, commits: list[int]
) -> None:
    embedded, in_memory = empty_embedded_store(tmp_path_factory.mktemp("changes")), MemoryStore()
    site = Site(random.Random(seed))
    site.grow(3)
    for changes in (0, *commits):
        with embedded.writer("site") as one, in_memory.writer("site") as other:
            both: Any = Both((one, other))
            if not changes:
                both.put(site.records())
            for _ in range(changes):
                site.change(both)
            assert one.commit().counts == other.commit().counts
        assert [post.id for post in embedded.snapshot().content.posts()] == sorted(site.posts)
        assert [post.id for post in in_memory.snapshot().content.posts()] == sorted(site.posts)
    merge(embedded.path, everything=True)  # what is learned is learned anew, as a commit in memory does
    one, other = Engine(embedded.snapshot()), Engine(in_memory.snapshot())
    assert_same_site(answers_of(one), answers_of(other))
    assert_same_readers(one, other)


def assert_same_site(first: dict[str, list[Answer]], second: dict[str, list[Answer]]) -> None:
    """Fail if two stores answer differently."""
    for query, hits in first.items():
        expected = {hit.name: hit.score for hit in second[query]}
        assert {hit.name for hit in hits} == expected.keys(), query
        for hit in hits:
            assert hit.score == pytest.approx(expected[hit.name], rel=0.05, abs=0.02), (query, hit)


def assert_same_readers(one: Engine, other: Engine) -> None:
    """Fail if pages with their snippets, explanations, spelling or completion differ. Hits with equal scores may change
    places."""
    for typed in (*SITE_QUERIES, "trangle serie", "prime -circle tag:geometry"):
        pages = [engine.search(typed, 50, "questions") for engine in (one, other)]
        first, second = ({hit.id: read_hit(hit) for hit in page.hits} for page in pages)
        assert first == second, typed
        rest = [replace(page, hits=(), seconds=0.0) for page in pages]
        assert rest[0] == rest[1], typed
        for number in list(first)[:2]:
            assert_same_explanation(one.explain(typed, number), other.explain(typed, number))
    for typed in ("pri", "tri", "geo", "a^2", "conv"):
        assert one.complete(typed) == other.complete(typed)


def read_hit(hit: SearchHit) -> SearchHit:
    """Return a hit as a reader sees it: ids of formulas depend on the order in which they came."""
    title, snippet = (tuple(replace(one, formula_id=None) for one in text) for text in (hit.title, hit.snippet))
    return replace(hit, score=0.0, title=title, snippet=snippet)


def test_texts_are_searched_without_files() -> None:
    engine = porism.memory(["The sum $x^2+y^2$ of squares.", "# Cubes\n\nThe sum $x^3+y^3$ of cubes.", "Primes"])
    found = engine.search("cubes $x^3$").hits
    assert found[0].id == 2
    assert "".join(part.text for part in found[0].title) == "Cubes"
    assert engine.formulas("x^2+y^2").hits[0].uses[0].post_id == 1
    assert porism.memory([]).search("anything").hits == ()
    assert porism.open("memory:").search("anything").hits == ()


def test_an_engine_is_refreshed() -> None:
    engine = porism.memory(["Primes are infinite"])
    assert engine.refresh() is engine
    with engine.store.writer() as writer:  # type: ignore[union-attr]
        writer.delete([1])
        writer.commit()
    assert engine.refresh().search("primes").hits == ()
    assert len(engine.search("primes").hits) == 1


def test_a_refreshed_engine_weighs_as_before() -> None:
    store = store_of_texts(["Primes are infinite", "Infinite sums of primes, and sums of sums"])
    engine = Engine(store.snapshot(), store=store, weighting=BM25(k1=0.1))
    with store.writer() as writer:
        writer.delete([1])
        writer.commit()
    refreshed, query = engine.refresh(), read_query("infinite sums")
    expected = Engine(store.snapshot(), weighting=BM25(k1=0.1)).features(query, "questions").values["thread.words"]
    assert refreshed is not engine
    assert refreshed.features(query, "questions").values["thread.words"].tolist() == expected.tolist()
    assert Engine(store.snapshot()).features(query, "questions").values["thread.words"].tolist() != expected.tolist()
