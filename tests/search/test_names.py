"""Documents without answers, with titles that have levels: names, headings, defined terms, and no feedback."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from porism.analysis.terms import split_thread
from porism.corpus.build.pipeline import build
from porism.corpus.post import LEVEL
from porism.corpus.sources.raw import Part, RawPost
from porism.corpus.store.collection import Collection
from porism.search.engine import Engine
from porism.store.embedded.build import build_index

TITLES = {
    1: ("Commutative Algebra", "Localization", "Nakayama's lemma"),
    2: ("Commutative Algebra", "Localization", "Lemma"),
    3: ("Geometry", "Triangles", "Pythagorean theorem"),
    4: ("Geometry", "Triangles", "Kollár's theorem on triangles"),
    5: ("Geometry", "Circles", "Lemma"),
}
BODIES = {
    1: "<p>Let M be a finite module over a local ring. If mM = M then M is zero.</p>",
    2: "<p>A module is called <em>flat over the base</em> if tensoring with it is exact. Nakayama is not needed here, nor a lemma of Nakayama.</p>",
    3: "<p>In a right triangle the squares of the sides add up.</p>",
    4: "<p>A theorem of a similar kind, and Pythagoras knew it. The theorem of Pythagoras follows. Pythagoras, theorem, theorem.</p>",
    5: "<p>A circle is flat. Flat over the base, over and over: base, base, flat.</p>",
}


class _Source:
    kind, official = "folder", False

    def __init__(self, path: Path) -> None:
        self.path = path

    def parts(self) -> list[Part]:
        return [Part.of(self.path, lambda: iter(self._posts()))]

    def _posts(self) -> list[RawPost]:
        return [RawPost(one, "question", None, LEVEL.join(TITLES[one]), BODIES[one], "spans") for one in TITLES]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    (folder / "file").write_text("x")
    build([_Source(folder / "file")], folder / "collection", jobs=1)
    with Collection.open(folder / "collection") as collection:
        build_index(collection, folder / "index")
    return folder


@pytest.fixture(scope="module")
def engine(place: Path) -> Engine:
    return Engine.open(place / "index")


def first(engine: Engine, query: str) -> int:
    return engine.search(query, k=1, kind="questions").hits[0].id


@pytest.mark.parametrize(
    ("query", "right"),
    [
        ("nakayama lemma", 1),
        ("lemma of Nakayama", 1),
        ("pythagoras theorem", 3),
        (r"Koll\'ar theorem on triangles", 4),
        ("flat over the base", 2),
    ],
)
def test_a_name_finds_its_document_first(engine: Engine, query: str, right: int) -> None:
    assert first(engine, query) == right


def test_levels_of_a_title_are_fields(place: Path) -> None:
    with Collection.open(place / "collection") as collection:
        pieces = split_thread(collection.threads_by_id([1])[1], [], True)
    assert pieces.title.words == ["Nakayama", "s", "lemma"]
    assert {field: piece.words for field, piece in pieces.headings.items()} == {
        "section": ["Localization"],
        "chapter": ["Commutative", "Algebra"],
    }


def test_a_heading_finds_its_documents_but_is_not_their_name(engine: Engine) -> None:
    found = {hit.id for hit in engine.search("localization", k=5, kind="questions").hits}
    assert found == {1, 2}
    values = engine.features(engine.read("localization"), "questions").values
    assert not values["name.title"].any()
    assert values["headings.words"].any()


def test_documents_get_no_feedback_and_titles_have_the_unit_of_the_text(engine: Engine) -> None:
    table = engine.features(engine.read("triangle sides"), "questions")
    assert not engine.index.is_forum
    assert not table.values["feedback.words"].any()
    names = [feature.name for feature in table_features()]
    scales = table.scales("questions", 5)
    assert scales[names.index("title.words")] == scales[names.index("thread.words")]


def table_features() -> tuple[object, ...]:
    from porism.search.features import all_features

    return all_features()


def test_a_thread_that_the_query_names_gets_no_feedback(demo: Path) -> None:
    engine = Engine.open(demo / "index")
    assert engine.index.is_forum
    post = next(iter(engine.content.posts("question")))
    named = engine.features(engine.read(post.title.plain()), "questions")
    assert named.values["name.title"].max() == np.float32(named.batch.context.best_match)
    assert not named.batch.context.prepared["feedback"]
    other = engine.features(engine.read("an integral of some function"), "questions")
    assert other.batch.context.prepared["feedback"]


def test_known_items_of_a_file_become_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).resolve().parents[2]
    monkeypatch.syspath_prepend(str(root))
    from bench.known_items import command

    rows = [{"id": f"d{one}", "name": TITLES[one][2], "section": TITLES[one][1], "body": BODIES[one]} for one in TITLES]
    (tmp_path / "documents.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "queries.tsv").write_text("id\tquery\nq1\tnakayama lemma\nq2\tpythagoras theorem\n")
    command(
        [
            "--documents",
            str(tmp_path / "documents.jsonl"),
            "--queries",
            str(tmp_path / "queries.tsv"),
            "-o",
            str(tmp_path / "run"),
        ]
    )
    lines = [line.split("\t") for line in (tmp_path / "run").read_text().splitlines()]
    assert [line[2] for line in lines if line[3] == "1"] == ["d1", "d3"]
