from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from porism.search.display.results import Results
from porism.search.engine import Engine
from porism.web.api import views
from porism.web.api.results import ResponseCache
from porism.web.server.app import create_app


def test_the_least_recently_used_result_is_dropped_first() -> None:
    cache = ResponseCache(2)
    keys = [cache.key(views.search, {"q": word, "k": 10}) for word in "abc"]
    for key in keys[:2]:
        cache.put(key, Results((), 7, 1.0))
    assert cache.get(keys[0]).total == 7
    cache.put(keys[2], Results((), 8, 1.0))
    assert cache.get(keys[1]) is None
    assert cache.get(keys[0]) is not None


def test_a_cached_result_reports_the_time_of_the_lookup() -> None:
    cache = ResponseCache(1)
    key = cache.key(views.search, {"q": "x"})
    cache.put(key, Results((), 1, 5.0))
    assert cache.get(key).seconds < 5.0


def test_a_cache_of_size_zero_keeps_nothing() -> None:
    cache = ResponseCache(0)
    key = cache.key(views.search, {"q": "x"})
    cache.put(key, Results((), 1, 5.0))
    assert cache.get(key) is None


def test_a_repeated_query_is_not_searched_again(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine.open(demo / "index")
    searched: list[tuple[object, object, object]] = []
    search = Engine.search

    def counted(self: Engine, q: str, k: int, kind: str, *given: object, **options: object) -> Results:
        searched.append((q, kind, options["group"]))
        return search(self, q, k, kind, *given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "search", counted)
    with TestClient(create_app(engine), base_url="http://localhost") as client:
        first, again = (client.get("/v1/search", params={"q": "irrational"}).json()["data"] for _ in range(2))
        client.get("/v1/search", params={"q": "irrational", "kind": "questions"})
        page, _ = (client.get("/search", params={"q": "irrational"}) for _ in range(2))
    api = [("irrational", "answers", False), ("irrational", "questions", False)]
    assert searched == [*api, ("irrational", "answers", True)]  # pages group the answers of a thread
    assert {**first, "seconds": 0} == {**again, "seconds": 0}
    assert page.status_code == 200
