"""The store in a cluster passes the conformance suite, and gives the ranking of the embedded store, also after
changes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from attack.cluster.nodes import Nodes

from cluster.stores import Collections
from corpus.test_slice import write_cut
from porism.analysis.schema import THREAD
from porism.corpus.build.pipeline import build
from porism.corpus.post import Formula
from porism.corpus.sources.detect import open_source
from porism.corpus.sources.raw import RawPost
from porism.errors import PorismError
from porism.progress import Silent
from porism.records import Explanation
from porism.search.display.results import SearchHit
from porism.search.engine import Engine
from porism.store import open_content
from porism.store.conformance import CHECKS, Subject
from porism.store.conformance.subject import QUESTIONS, RECORDS, put
from porism.store.embedded.store import EmbeddedStore
from porism.store.maintenance import build_index
from porism.store.opensearch.folders import copy_to_folder
from porism.store.opensearch.load import copy_store
from porism.store.opensearch.store import ClusterStore
from porism.store.opensearch.verify import differences
from porism.store.records import Term, TermQuery
from porism.store.weighting import BM25

TYPED = (
    r"proof that $\sqrt{2}$ is irrational",
    "prime numbers",
    "triangel inequality",  # misspelt
    '"right triangle" -circle',
    "sum of squares tag:number-theory",
    "limit after:2012 is:accepted",
    r"$\int_0^1 x^n dx$",
    r"$?a^2+?b^2$",
)
FORMULAS = (r"x^2+y^2=z^2", r"\sqrt{2}", r"?a^2+?b^2", r"\sum_{k=1}^n k")
CLOSE = 1e-5  # scores are single-precision numbers in the cluster


@pytest.fixture(scope="module")
def collections(hosts: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collections]:
    found = Collections(hosts, tmp_path_factory.mktemp("cluster"))
    yield found
    found.remove()


@pytest.fixture(scope="module")
def subject(collections: Collections) -> Subject:
    return Subject(collections.empty)


@pytest.fixture(scope="module")
def copied(collections: Collections, demo: Path) -> ClusterStore:
    return collections.copy(demo / "index")


@pytest.fixture(scope="module")
def engines(copied: ClusterStore, demo: Path) -> tuple[Engine, Engine]:
    embedded = EmbeddedStore(demo / "index")
    return Engine(embedded.snapshot(), store=embedded), Engine(copied.snapshot(), store=copied)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_store_in_a_cluster_conforms(subject: Subject, check: Callable[[Subject], None]) -> None:
    check(subject)


def without_score(hit: SearchHit) -> SearchHit:
    return replace(hit, score=0.0)


def assert_same_hits(
    one: tuple[SearchHit, ...] | list[SearchHit], other: tuple[SearchHit, ...] | list[SearchHit]
) -> None:
    assert [without_score(hit) for hit in other] == [without_score(hit) for hit in one]
    assert np.allclose([hit.score for hit in other], [hit.score for hit in one], rtol=CLOSE)


@pytest.mark.parametrize("query", TYPED)
def test_a_page_is_that_of_the_embedded_store(engines: tuple[Engine, Engine], query: str) -> None:
    one, other = (engine.search(query) for engine in engines)
    assert_same_hits(one.hits, other.hits)
    assert (other.total, other.notes, other.suggestions) == (one.total, one.notes, one.suggestions)
    assert (other.also_searched, other.reading) == (one.also_searched, one.reading)
    second = [engine.search(query, offset=10) for engine in engines]
    assert_same_hits(second[0].hits, second[1].hits)


def test_whole_questions_rank_as_in_the_embedded_store(engines: tuple[Engine, Engine]) -> None:
    embedded, cluster = engines
    for post in list(embedded.content.posts("question"))[::12]:
        text = f"{post.title.plain()} {post.body.plain()}"
        assert_same_hits(embedded.search(text).hits, cluster.search(text).hits)


@pytest.mark.parametrize("latex", FORMULAS)
def test_formulas_are_those_of_the_embedded_store(engines: tuple[Engine, Engine], latex: str) -> None:
    one, other = (engine.formulas(latex) for engine in engines)
    assert [replace(hit, score=0.0) for hit in other.hits] == [replace(hit, score=0.0) for hit in one.hits]
    assert np.allclose([hit.score for hit in other.hits], [hit.score for hit in one.hits], rtol=CLOSE)


def assert_same_explanation(one: Explanation, other: Explanation) -> None:
    assert np.isclose(other.value, one.value, rtol=CLOSE, atol=CLOSE)
    assert len(other.parts) == len(one.parts)
    if other.parts:
        values = [part.value for part in other.parts]
        assert np.isclose(sum(values), other.value, rtol=CLOSE, atol=CLOSE), "the parts must sum to the value"
    for pair in zip(one.parts, other.parts, strict=True):
        assert_same_explanation(*pair)


def test_completions_and_explanations_are_those_of_the_embedded_store(engines: tuple[Engine, Engine]) -> None:
    embedded, cluster = engines
    assert cluster.complete("conver") == embedded.complete("conver")
    best = embedded.search(TYPED[0]).hits[0].id
    one, other = (engine.explain(TYPED[0], best) for engine in engines)
    assert_same_explanation(one, other)


def test_a_copy_is_its_source_and_comes_back(copied: ClusterStore, demo: Path, tmp_path: Path) -> None:
    assert differences(copied.address, demo / "index") == []
    copy_to_folder(copied.snapshot(), tmp_path / "back")
    assert differences(copied.address, tmp_path / "back") == []


class Killed(Exception):
    """In place of kill -9."""


class Killing(Silent):
    """Progress that ends a load in a stage."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self.begun: list[str] = []

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Begin a stage, unless it is the one."""
        self.begun.append(name)
        if name == self._stage:
            raise Killed
        yield lambda number: None


def test_a_load_that_was_killed_goes_on(collections: Collections, demo: Path) -> None:
    address = collections.new_address()
    with pytest.raises(Killed):
        copy_store(demo / "index", address, Killing("formulas"))
    store = ClusterStore.open(address)
    with pytest.raises(PorismError, match="the cluster has no collection"):
        store.snapshot()
    assert copy_store(demo / "index", address) == 1, "a load that was killed must not begin another build"
    assert differences(address, demo / "index") == []


def test_changes_equal_those_of_the_embedded_store(collections: Collections, demo: Path, tmp_path: Path) -> None:
    """Statistics, records and posts after puts and deletions are those of an embedded index with the same changes."""
    shutil.copytree(demo, tmp_path / "demo")
    embedded, cluster = EmbeddedStore(tmp_path / "demo" / "index"), collections.copy(tmp_path / "demo" / "index")
    posts = list(embedded.snapshot().content.posts("question"))
    changed = [
        RawPost(
            posts[3].id,
            "question",
            None,
            "Why is $x^2+y^2=z^2$ a circle?",
            "<p>New words: zyzzyva $q^{17}$.</p>",
            "html",
        ),
        RawPost(
            10**9,
            "question",
            None,
            "A new question about primes",
            "<p>Is $2^{89}-1$ prime?</p>",
            "html",
            "number-theory",
        ),
        RawPost(10**9 + 1, "answer", 10**9, "", "<p>Yes: $2^{89}-1$ is a Mersenne prime.</p>", "html"),
    ]
    for store in (embedded, cluster):
        with store.writer() as writer:
            writer.put(changed[:2])
            writer.delete([posts[5].id])
            writer.commit()
        with store.writer() as writer:
            writer.put(changed[2:])
            writer.delete([posts[7].id])
            writer.commit()
    assert differences(cluster.address, tmp_path / "demo" / "index") == []
    one, other = embedded.snapshot(), cluster.snapshot()
    words = [Term("words", text) for text in ("prime", "zyzzyva", "circl", "mersenn", "triangl")]
    assert other.statistics(words).documents.tolist() == one.statistics(words).documents.tolist()
    paths = np.arange(1, 4_000_000_000, 1_000_003).astype(np.uint32)
    assert np.allclose(
        other.learned.symbols.inverse_path_frequency(paths), one.learned.symbols.inverse_path_frequency(paths)
    )
    labels = one.learned.symbols.labels
    assert {name for name in other.learned.symbols.labels if name in labels} == labels.keys()
    for weights in ("layout_weights", "operator_weights"):
        own, its = getattr(other.learned.symbols, weights), getattr(one.learned.symbols, weights)
        assert np.allclose(
            [own[other.learned.symbols.labels[name]] for name in labels], [its[at] for at in labels.values()]
        )
    for text in ("zyzzyva", "prime numbers $2^{89}-1$"):
        hits = [Engine(snapshot).search(text).hits for snapshot in (one, other)]
        assert_same_hits(*hits)


def test_titles_of_linked_questions_have_formulas(collections: Collections, tmp_path: Path) -> None:
    """A formula that a post shares with the title of a question outside the collection, before and after a change."""
    build([open_source(write_cut(tmp_path / "cut"))], tmp_path / "collection", jobs=1)
    build_index(open_content(tmp_path / "collection"), tmp_path / "index")
    stores = EmbeddedStore(tmp_path / "index"), collections.copy(tmp_path / "index")

    def shared() -> list[dict[int, list[Formula]]]:
        return [store.snapshot().content.instances([100, 101], 10) for store in stores]

    one, other = shared()
    assert [len(found) for found in one.values()] == [1, 2]
    assert other == one
    for store in stores:
        with store.writer() as writer:
            writer.put([RawPost(5, "question", None, "Another $t$", "<p>No formula.</p>", "html")])
            writer.commit()
    one, other = shared()
    assert [found[-1].post_id for found in one.values()] == [5, 9]
    assert other == one
    assert differences(stores[1].address, tmp_path / "index") == []


def test_a_copy_that_was_away_gets_what_was_written(collections: Collections, nodes: Nodes, demo: Path) -> None:
    """A node ends, a commit follows, and the node comes back: each of its shards is complete again."""
    store = collections.copy(demo / "index")
    nodes.wait()
    away = next(number for number in range(len(nodes.nodes)) if number != nodes.manager())
    nodes.kill(away)
    put(store, QUESTIONS[:2])
    nodes.restart(away)
    nodes.wait()
    assert store.snapshot().content.known_posts([QUESTIONS[0].id]) == {QUESTIONS[0].id}


def test_an_older_build_comes_back_and_a_reader_follows(collections: Collections, demo: Path) -> None:
    store = collections.copy(demo / "index")
    before, version = store.snapshot(), store.version()
    put(store, QUESTIONS[:2])
    assert store.version() != version
    assert store.maintain(everything=True), "there was something to do"
    assert store.place.current() == 2
    assert store.snapshot().content.known_posts([QUESTIONS[0].id]) == {QUESTIONS[0].id}
    assert store.snapshot().info.generation > before.info.generation
    assert not before.content.known_posts([QUESTIONS[0].id]), "an older snapshot stays as it is"
    store.place.show(1)
    assert store.place.current() == 1


def test_what_a_dead_writer_left_is_not_seen(collections: Collections) -> None:
    store = collections.empty()
    put(store, RECORDS)
    generation = store.snapshot().info.generation
    index = store.place.index("threads", store.place.manifest().build)
    left = {"id": 21, "words": "1|400000 2|400000", "question_years": [2012], "from": generation + 1, "record": ""}
    store.place.cluster.request("PUT", f"/{index}/_doc/21.{generation + 1}", left, {"refresh": "true"})
    search = [TermQuery([Term("words", "prime")], THREAD, 10, BM25(k1=0.0))]
    before = store.snapshot().search(search)[0].numbers.tolist()
    assert sorted(before) == sorted(set(before))
    with store.writer() as writer:
        writer.delete([61])
        writer.commit()
    after = store.snapshot().search(search)[0].numbers.tolist()
    assert after == before, "a document that no commit named is found"


def test_another_version_is_refused(collections: Collections, demo: Path) -> None:
    store = collections.copy(demo / "index")
    stored = store.place.stored_manifest()
    assert store.place.put_manifest(replace(stored.manifest, terms="other"), stored)
    with pytest.raises(PorismError, match="made by another version of Porism"):
        store.snapshot()
    missing = ClusterStore.open(collections.new_address())
    with pytest.raises(PorismError, match="has no collection"):
        missing.snapshot()
