from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from porism.search.display.results import Results
from porism.search.engine import Engine
from porism.web.api import views
from porism.web.server.app import create_app
from porism.web.server.memory import Memory


def test_the_least_lately_asked_is_forgotten_first() -> None:
    memory = Memory(2)
    keys = [memory.key(views.search, {"q": word, "k": 10}) for word in "abc"]
    for key in keys[:2]:
        memory.keep(key, Results((), 7, 1.0))
    assert memory.recall(keys[0]).total == 7
    memory.keep(keys[2], Results((), 8, 1.0))
    assert memory.recall(keys[1]) is None
    assert memory.recall(keys[0]) is not None


def test_an_answer_from_memory_tells_what_it_took_now() -> None:
    memory = Memory(1)
    key = memory.key(views.search, {"q": "x"})
    memory.keep(key, Results((), 1, 5.0))
    assert memory.recall(key).seconds < 5.0


def test_nothing_is_kept_where_that_is_asked() -> None:
    memory = Memory(0)
    key = memory.key(views.search, {"q": "x"})
    memory.keep(key, Results((), 1, 5.0))
    assert memory.recall(key) is None


def test_a_question_asked_again_is_not_searched_again(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine.open(demo / "index")
    asked: list[tuple[object, ...]] = []
    search = Engine.search

    def counted(*given: object, **options: object) -> Results:
        asked.append((*given[1:], options["kind"]))
        return search(*given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "search", counted)
    with TestClient(create_app(engine), base_url="http://localhost") as client:
        first, again = (client.get("/v1/search", params={"q": "irrational"}).json()["data"] for _ in range(2))
        client.get("/v1/search", params={"q": "irrational", "kind": "questions"})
        page = client.get("/search", params={"q": "irrational"})
    assert asked == [("irrational", "answers"), ("irrational", "questions")]
    assert {**first, "seconds": 0} == {**again, "seconds": 0}
    assert page.status_code == 200
