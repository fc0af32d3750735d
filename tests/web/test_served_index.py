"""A server switches to the newest commit of its index by itself."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import porism
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.sources.raw import RawPost
from porism.integrity import DamageError, FileWatch
from porism.store import open_content, open_store
from porism.store.embedded.build import build_index
from porism.store.embedded.segments.writer import IndexWriter
from porism.store.protocols import IndexOptions
from porism.web.server import served_index as following
from porism.web.server.app import create_app
from porism.web.server.served_index import IntegrityCheck
from porism.web.server.write_processes import _Watch


@pytest.fixture
def index(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.md").write_text("# Cubes\n\nThe sum $x^3+y^3$.\n", "utf-8")
    made = build([open_source(tmp_path / "notes", "")], tmp_path / "collection", jobs=1)
    build_index(open_content(made), tmp_path / "index", IndexOptions(vectors=False))
    return tmp_path / "index"


def test_a_new_post_is_found_without_a_restart(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(porism.open(index), hosts=["testserver"])
    looked, go_on = threading.Event(), threading.Event()

    def wait(_: float) -> None:
        looked.set()
        go_on.wait()
        go_on.clear()

    monkeypatch.setattr(following, "time", type("Clock", (), {"sleep": staticmethod(wait)}))
    follow: Callable[[], None] = lambda: following.follow_index(app)  # noqa: E731
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


def test_an_engine_that_is_served_no_more_is_freed_without_the_garbage_collector(index: Path) -> None:
    """Each engine has files open: a server that changes often would have none left."""
    engine = porism.open(index)
    files = []
    gc.collect()
    gc.disable()
    try:
        for number in range(70, 74):
            with IndexWriter(index) as writer:
                writer.put([RawPost(number, "question", None, "Zeppelin", f"<p>flies $x^{number}$</p>", "html")])
                writer.commit()
            old, engine = weakref.ref(engine), engine.refresh()
            engine.search("zeppelin $x^2$", kind="questions", tags=("algebra",))
            engine.search("zeppelin $x^2$")
            engine.formulas("x^2")
            engine.complete("zep")
            assert old() is None
            files.append(len(os.listdir("/proc/self/fd")))
    finally:
        gc.enable()
    assert files[-1] - files[0] <= 2 * 3  # for each part of the collection one, and one of the writer in this process


def test_a_file_that_is_truncated_or_written_is_served_no_more(index: Path) -> None:
    check = IntegrityCheck()
    with TestClient(create_app(porism.open(index), hosts=["testserver"], check=check)) as client:
        watch = FileWatch(open_store(index).files)
        watch.restart()
        file = index / "posts" / "threads.npy"
        content = file.read_bytes()

        def status(path: str = "/v1/search?q=cubes") -> tuple[int, str]:
            check.changed = watch.damages()
            answer = client.get(path)
            return answer.status_code, answer.text

        assert status()[0] == 200
        os.utime(file)  # another time and the same bytes
        assert status()[0] == 200
        for damaged in (content[:-1], content + b"0", content[:-1] + bytes([content[-1] ^ 1])):
            file.write_bytes(damaged)
            code, text = status()
            assert code == 503
            assert "porism store verify" in text
            code, text = status("/ready")
            assert code == 503
            assert "threads.npy" in text  # visitors do not see it, those who watch the server do
            assert status("/health")[0] == 200
            file.write_bytes(content)
            assert status()[0] == 200
        file.rename(index / "elsewhere")  # this process has the file open
        assert status()[0] == 200
        assert status("/ready") == (200, '{"ready":true,"integrity":"verified","damaged":[]}')


def test_damage_stays_known_when_a_newer_commit_is_served(index: Path) -> None:
    """A commit beside a damaged file does not make the file well."""
    watch = FileWatch(open_store(index).files)
    watch.restart()
    file = index / "posts" / "threads.npy"
    content = file.read_bytes()
    with IndexWriter(index) as writer:
        writer.put([RawPost(70, "question", None, "Zeppelin", "<p>a zeppelin flies</p>", "html")])
        writer.commit()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    watch.restart()  # the server sees the commit before it looks at the file
    assert [Path(damage.part).name for damage in watch.damages()] == ["threads.npy"]
    watch.restart()
    assert watch.damages()
    file.write_bytes(content)
    assert not watch.damages()


def test_nothing_is_committed_from_damaged_files(index: Path) -> None:
    """What the applier reads from a damaged file would become part of a commit with checksums of its own."""
    watch = _Watch(open_store(index))
    watch.check()
    file = index / "posts" / "threads.npy"
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(DamageError):
        watch.check()
    file.write_bytes(content)
    watch.check()


def test_files_are_watched_while_a_newer_commit_cannot_be_opened(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = IntegrityCheck()
    app = create_app(porism.open(index), hosts=["testserver"], check=check)
    file = index / "posts" / "threads.npy"

    class Ended(Exception):
        pass

    def damage_manifest() -> None:
        (index / "manifest.json").write_bytes(b"{")

    def damage_file() -> None:
        file.write_bytes(file.read_bytes()[:-1])

    steps = iter((lambda: None, damage_manifest, damage_file, lambda: None))

    def wait(_: float) -> None:
        step = next(steps, None)
        if step is None:
            raise Ended
        step()

    monkeypatch.setattr(following, "time", type("Clock", (), {"sleep": staticmethod(wait)}))
    with pytest.raises(Ended):
        following.follow_index(app)
    assert [Path(damage.part).name for damage in check.changed] == ["threads.npy"]
