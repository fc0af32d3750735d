from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from porism.corpus.store.collection import Collection
from porism.doctor.checkup import IndexCheckup
from porism.search.answers.reranker import Model, load_model
from porism.search.engine import Engine
from porism.search.index import Adaptation
from porism.search.learning import teaching
from porism.store import open_store
from porism.store.maintenance import build_index
from porism.store.protocols import IndexOptions


@pytest.fixture
def index(demo: Path, tmp_path: Path) -> Path:
    shutil.copytree(demo / "collection", tmp_path / "collection")
    return Path(shutil.copytree(demo / "index", tmp_path / "index"))


def test_a_small_collection_keeps_the_defaults(index: Path) -> None:
    assert teaching.teach(index) == Adaptation()
    assert open_store(index).status().ranking == ""


def test_a_collection_chooses_the_same_factors_each_time(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teaching, "FEWEST_THREADS", 10)
    monkeypatch.setattr(teaching, "SURE", -100.0)  # whatever is best on one half is chosen
    first, again = teaching.teach(index), teaching.teach(index)
    assert first == again
    assert first.queries >= teaching.FEWEST_QUERIES // 2
    assert all(factor in teaching.FACTORS and factor != 1.0 for factor in first.factors.values())
    assert Adaptation.parse(open_store(index).status().ranking) == first


def test_own_queries_hide_what_tells_the_answer(demo: Path, tmp_path: Path) -> None:
    with Collection.open(demo / "collection") as collection:
        build_index(collection, tmp_path / "index", IndexOptions(links=False))
    engine = Engine.open(tmp_path / "index")
    queries = list(teaching.own_queries(engine))
    assert queries
    for query in queries:
        assert query.hidden.fields in (("title",), ("question",))
        scored = engine.score(engine.read(query.text), "questions", query.hidden)
        right = scored.table.batch.ranked_count("questions") - 1
        assert scored.table.batch.documents.numbers[right] == query.hidden.thread
        name = "name.title" if query.hidden.fields == ("title",) else "name.defined"
        assert scored.table.values[name][right] == 0
        if "title" in query.hidden.fields:
            assert scored.table.values["title.identity"][right] == 0


def test_factors_change_the_weights_of_their_group_only() -> None:
    model = load_model()
    adapted = model.adapted(Adaptation({"titles": 2.0}))
    before, after = model.weights["questions"], adapted.weights["questions"]
    assert after["title.words"] == 2 * before["title.words"]
    assert {name for name in before if before[name] != after[name]} <= {
        name for name in before if name.startswith("title.")
    }
    assert after["title.identity"] == before["title.identity"]
    assert adapted.weights["answers"] == model.weights["answers"]
    assert isinstance(adapted, Model)


def test_doctor_and_explanation_say_what_was_chosen(index: Path) -> None:
    open_store(index).record_ranking(Adaptation({"feedback": 0.5}, 0.031, 0.01, 40).as_text())
    said = "feedback x 0.5 (+0.031 ± 0.010 MRR on 40 queries of the collection)"
    assert said in [finding.fact for finding in IndexCheckup(index).state()]
    engine = Engine.open(index)
    hit = engine.search("right triangle", k=1, kind="questions").hits[0]
    assert engine.explain("right triangle", hit.id).reason.endswith(said)
