"""Vectors of posts in an index: encoded once, continued after a kill, copied by updates and merges, used by
searches."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from porism.analysis.terms import ENCODED_FIELDS
from porism.corpus.sources.raw import RawPost
from porism.errors import PorismError
from porism.search.engine import Engine
from porism.store.embedded import encoded as store
from porism.store.embedded.encoded import EncoderEntry, IndexEncoder
from porism.store.embedded.encoding import add_vectors, open_encoded, remove_vectors
from porism.store.embedded.manifest import SEARCH, read_manifest
from porism.store.embedded.segments import merging
from porism.store.embedded.segments.merging import merge
from porism.store.embedded.segments.writer import IndexWriter
from porism.store.embedded.store import verify_index
from porism.store.protocols import Encoder
from porism.store.records import Values, VectorQuery

Tiny = Callable[[str], Path]
QUERY = r"why is $\sqrt{2}$ irrational?"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each call of an encoder had."""
    counts: list[int] = []
    encode = IndexEncoder.encode

    def counting(self: IndexEncoder, texts: Sequence[str], role: str = "document") -> object:
        counts.append(len(texts))
        return encode(self, texts, role)  # type: ignore[arg-type]

    monkeypatch.setattr(IndexEncoder, "encode", counting)
    return counts


@pytest.fixture
def place(demo: Path, tmp_path: Path) -> Path:
    """A copy of the sample, to be changed."""
    shutil.copytree(demo / "collection", tmp_path / "collection")
    return Path(shutil.copytree(demo / "index", tmp_path / "index"))


def encoder(tiny: Tiny) -> IndexEncoder:
    return IndexEncoder.new(tiny("encoder"), ENCODED_FIELDS, 32)


def model_of(engine: Engine) -> Encoder:
    """The model of the vectors, which the index has."""
    found = engine.snapshot.learned.encoder
    assert found is not None
    return found


def vectors_of(engine: Engine, field: str, *questions: int) -> Values:
    """The vectors of questions by their ids."""
    threads = engine.snapshot.locate(np.array(questions)).threads
    return engine.snapshot.threads(threads, (), (field,)).vectors[field]


def test_vectors_of_an_index(place: Path, tiny: Tiny) -> None:
    before = [hit.id for hit in Engine.open(place).search(QUERY).hits]
    added = add_vectors(place, encoder(tiny))
    entry = EncoderEntry.of(read_manifest(place, SEARCH))
    assert entry == added.entry
    assert added.cut > 0
    assert not list(place.glob("*unfinished*"))
    engine = Engine.open(place)
    ids = np.array(list(engine.content.question_ids()))
    assert added.vectors == engine.content.count("posts") + len(ids)
    query = model_of(engine).query(["proof"])
    vectors = vectors_of(engine, "questions", *ids[:5])
    similar = vectors @ query
    assert (np.abs(similar) > 0).all()
    stored = open_encoded(place, read_manifest(place, SEARCH))
    assert stored is not None
    *known, unknown = stored.vectors("questions", np.array([*ids[:5], 10**9])).tolist()
    assert known == vectors.tolist()
    assert not any(unknown)
    found = engine.snapshot.search([VectorQuery("questions", query, len(ids))])[0]
    assert sorted(found.numbers.tolist()) == sorted(engine.snapshot.locate(ids).threads.tolist())
    first = engine.snapshot.locate(ids[:1]).threads[0]
    assert found.scores[found.numbers == first] == pytest.approx(similar[0], abs=1e-3)
    hits = engine.search(QUERY).hits
    explained = engine.explain(QUERY, engine.content.posts_by_id([hits[0].id])[hits[0].id].thread_id)
    assert "a question of similar meaning (encoder)" in repr(explained)
    assert [hit.id for hit in Engine.open(place, encoder="none").search(QUERY).hits] == before
    remove_vectors(place)
    assert [hit.id for hit in Engine.open(place).search(QUERY).hits] == before
    assert not verify_index(place).damages


def test_an_interrupted_run_continues(
    place: Path, tiny: Tiny, counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("porism.store.embedded.encoding.BLOCK", 50)
    own = encoder(tiny)
    encode = IndexEncoder.encode

    def failing(self: IndexEncoder, texts: Sequence[str], role: str = "document") -> object:
        if len(counted) >= 5:
            raise KeyboardInterrupt
        return encode(self, texts, role)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(IndexEncoder, "encode", failing)
        with pytest.raises(KeyboardInterrupt):
            add_vectors(place, own)
    assert Engine.open(place).snapshot.learned.encoder is None  # nothing was committed
    done = sum(counted)
    added = add_vectors(place, own)
    assert sum(counted) == added.vectors
    assert 0 < done < added.vectors


def test_vectors_stay_whole_until_others_are_committed(
    place: Path, tiny: Tiny, counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed while it replaces the vectors of a model leaves an index that opens, and can be run
    again."""
    add_vectors(place, encoder(tiny))
    before = [(hit.id, hit.score) for hit in Engine.open(place).search(QUERY).hits]
    other = IndexEncoder.new(tiny("encoder"), ("titles",), 16)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("porism.store.embedded.encoding.save_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            add_vectors(place, other)
    assert [(hit.id, hit.score) for hit in Engine.open(place).search(QUERY).hits] == before
    added = add_vectors(place, other)
    assert [path.name for path in place.iterdir() if "encoded" in path.name] == [added.entry.folder]
    assert not verify_index(place).damages
    counted.clear()
    again = add_vectors(place, IndexEncoder.new(tiny("encoder"), ("titles",), 16))
    assert (again.entry, again.vectors) == (added.entry, added.vectors)
    assert not counted  # nothing is to be done


def test_an_update_encodes_new_texts_only(place: Path, tiny: Tiny, tmp_path: Path, counted: list[int]) -> None:
    model = shutil.copytree(tiny("encoder"), tmp_path / "model")
    add_vectors(place, IndexEncoder.new(model, ENCODED_FIELDS, 32))
    before = Engine.open(place)
    query = model_of(before).query(["x"])
    counted.clear()
    with IndexWriter(place) as writer:
        writer.put([RawPost(900_001, "question", None, "A new title", "<p>A new body</p>", "html")])
        writer.commit()
    assert counted == [1, 1]  # its title, and the question
    engine = before.refresh()
    shutil.rmtree(model)
    assert model_of(engine).query(["x"]).tolist() == query.tolist()  # the model is not loaded again
    assert (vectors_of(engine, "titles", 900_001) @ query)[0] != 0
    counted.clear()
    assert merge(place, everything=True)
    assert counted == []  # a merge copies vectors
    assert (vectors_of(Engine.open(place), "titles", 900_001) @ query)[0] != 0


def test_vectors_that_are_added_during_a_merge_are_in_its_segment(
    place: Path, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    with IndexWriter(place) as writer:
        writer.put([RawPost(900_001, "question", None, "A new title", "<p>A new body</p>", "html")])
        writer.commit()
    write, calls = merging._write, []

    def encode_meanwhile(*given: object) -> None:
        write(*given)  # type: ignore[arg-type]
        if not calls:
            add_vectors(place, encoder(tiny))
        calls.append(given)

    monkeypatch.setattr(merging, "_write", encode_meanwhile)
    assert merge(place, everything=True)
    assert len(calls) == 2
    engine = Engine.open(place)
    assert (vectors_of(engine, "titles", 900_001) @ model_of(engine).query(["x"]))[0] != 0
    assert not verify_index(place).damages


def test_another_model_is_refused(place: Path, tiny: Tiny) -> None:
    add_vectors(place, encoder(tiny))
    with pytest.raises(PorismError, match="another model"):
        Engine.open(place, encoder=tiny("masked")).search(QUERY, kind="questions")
    with pytest.raises(PorismError, match="which cannot be opened: no such model directory"):
        Engine.open(place, encoder=place / "gone").search(QUERY, kind="questions")


def test_a_moved_model_is_not_encoded_again(place: Path, tiny: Tiny, tmp_path: Path, counted: list[int]) -> None:
    add_vectors(place, encoder(tiny))
    moved = shutil.copytree(tiny("encoder"), tmp_path / "encoder")
    counted.clear()
    added = add_vectors(place, IndexEncoder.new(moved, ENCODED_FIELDS, 32))
    assert counted == []
    assert added.entry.place == str(moved)


def test_a_directory_is_found_again_from_any_folder(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny("encoder").parent)
    assert IndexEncoder.new("encoder", ENCODED_FIELDS, 32).entry.place == str(tiny("encoder").resolve())


def test_an_index_without_vectors_has_no_encoder(place: Path, tiny: Tiny) -> None:
    with pytest.raises(PorismError, match="has no vectors of posts"):
        Engine.open(place, encoder=tiny("encoder"))


def test_the_graph_agrees_with_exact_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "GRAPH_FROM", 100)
    generator = np.random.default_rng(1)
    matrix = generator.normal(size=(500, 32)).astype(np.float32)
    matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float16)
    store.write_nearest(tmp_path, "titles", matrix)
    graph = store.open_nearest(tmp_path, "titles")
    assert graph is not None
    query = matrix[7].astype(np.float32)
    exact = store.search_rows(matrix, query, 20, None)
    near = store.search_rows(matrix, query, 20, graph)
    assert exact.numbers[0] == near.numbers[0] == 7
    assert len(set(exact.numbers.tolist()) & set(near.numbers.tolist())) >= 18
    assert near.scores[0] == pytest.approx(exact.scores[0], abs=1e-6)


def test_a_query_of_several_texts_is_their_mean_direction(place: Path, tiny: Tiny, counted: list[int]) -> None:
    add_vectors(place, encoder(tiny))
    model = model_of(Engine.open(place))
    counted.clear()
    one, other, both = (model.query(texts) for texts in (["proof"], ["a longer text"], ["proof", "a longer text"]))
    assert counted == [1] * 4  # a short text is not padded to the length of a long one
    assert both == pytest.approx((one + other) / np.linalg.norm(one + other), abs=1e-6)


def test_answers_use_the_similarity_of_questions(place: Path, tiny: Tiny) -> None:
    add_vectors(place, encoder(tiny))
    engine = Engine.open(place)
    hit = engine.search(QUERY).hits[0]
    assert "a question of similar meaning (encoder)" in repr(engine.explain(QUERY, hit.id))
    without = Engine.open(place, encoder="none")
    assert "similar meaning" not in repr(without.explain(QUERY, hit.id))
