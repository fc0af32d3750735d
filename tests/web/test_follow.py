"""A server switches to the newest commit of its index by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import porism
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.sources.raw import RawPost
from porism.corpus.store.collection import Collection
from porism.index.build import build_index
from porism.index.segments.writer import IndexWriter
from porism.web.server import run
from porism.web.server.app import create_app


@pytest.fixture
def index(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.md").write_text("# Cubes\n\nThe sum $x^3+y^3$.\n", "utf-8")
    with Collection.open(build([open_source(tmp_path / "notes", "")], tmp_path / "collection", jobs=1)) as collection:
        build_index(collection, tmp_path / "index", vectors=False)
    return tmp_path / "index"


def test_a_new_post_is_found_without_a_restart(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(porism.open(index), hosts=["testserver"])
    looked, go_on = threading.Event(), threading.Event()

    def wait(_: float) -> None:
        looked.set()
        go_on.wait()
        go_on.clear()

    monkeypatch.setattr(run, "time", type("Clock", (), {"sleep": staticmethod(wait)}))
    follow: Callable[[], None] = lambda: run.follow_index(app)  # noqa: E731
    threading.Thread(target=follow, daemon=True).start()
    with TestClient(app) as client:
        found = client.get("/v1/search", params={"q": "zeppelin", "kind": "questions"}).json()
        assert found["data"]["hits"] == []
        with IndexWriter(index) as writer:
            writer.put([RawPost(70, "question", None, "Zeppelin", "<p>a zeppelin flies</p>", "html")])
            writer.commit()
        looked.wait()
        looked.clear()
        go_on.set()
        looked.wait()  # the second look: the first one has switched
        found = client.get("/v1/search", params={"q": "zeppelin", "kind": "questions"}).json()
        assert [hit["id"] for hit in found["data"]["hits"]] == [70]
