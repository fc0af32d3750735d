"""`porism update --watch`: a real process follows a real folder, and a server follows the index."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

import porism
from porism.errors import PorismError
from porism.locks import only_writer
from porism.store.updating import FolderWatcher
from web.server_processes import running, until

CUBES = "# Cubes\n\nThe sum $x^3+y^3$.\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "roots.md").write_text("# Irrational roots\n\nSuppose $\\sqrt{2}=p/q$.\n", "utf-8")
    return folder


@contextmanager
def watching(folder: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start `porism update --watch` and wait until it has the index."""
    index = folder.parent / "index"
    command = [sys.executable, "-m", "porism.cli", "update", str(index), str(folder), "--watch", "--wait", "0.1"]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, env=dict(os.environ)) as process:
        try:
            until(lambda: f"{index}: " in log.read_text() or process.poll() is not None)
            yield process
        finally:
            process.kill()


def titles(index: Path, query: str) -> list[str]:
    return [hit.title for hit in porism.open(index).search(query, kind="questions").hits]


def test_an_index_follows_its_folder_and_a_server_follows_the_index(notes: Path) -> None:
    index, log = notes.parent / "index", notes.parent / "watch.log"
    with watching(notes, log) as process:
        with running(notes.parent / "serve.log", "serve", str(index), "--workers", "1") as server:
            (notes / "cubes.md").write_text(CUBES, "utf-8")
            until(lambda: "added posts 1 (cubes.md)" in log.read_text())

            def served() -> list[str]:
                found = json.loads(server.get(f"v1/search?q={quote('cubes')}&kind=questions"))
                return [hit["title"] for hit in found["data"]["hits"]]

            until(lambda: len(served()) == 1)
        (notes / "roots.md").write_text("# Irrational roots\n\nBy descent, no $p^2=2q^2$.\n", "utf-8")
        until(lambda: "replaced posts 1 (roots.md)" in log.read_text())
        assert len(titles(index, "descent")) == 1
        assert len(titles(index, "irrational roots")) == 1
        (notes / "cubes.md").rename(notes / "powers.md")
        until(lambda: "added posts 1, deleted posts 1 (cubes.md, powers.md)" in log.read_text())
        (notes / "powers.md").unlink()
        until(lambda: "deleted posts 1 (powers.md)" in log.read_text())
        assert titles(index, "cubes") == []
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert log.read_text().endswith(f"stopped watching {notes}\n")


def test_a_bad_file_a_lost_folder_and_a_busy_index_are_reported_and_survived(notes: Path) -> None:
    index, log = notes.parent / "index", notes.parent / "watch.log"
    with watching(notes, log) as process:
        (notes / "bad.md").write_bytes(b"\xff\xfe")
        until(lambda: f"skipped: documents {notes / 'bad.md'}:1: not UTF-8" in log.read_text())
        with only_writer(index):
            (notes / "cubes.md").write_text(CUBES, "utf-8")
            until(lambda: f"process {os.getpid()} is writing it now; waiting for it" in log.read_text())
        until(lambda: "added posts 1 (cubes.md)" in log.read_text())
        notes.rename(notes.parent / "away")
        until(lambda: "the folder is gone" in log.read_text())
        assert len(titles(index, "cubes")) == 1
        (notes.parent / "away" / "cubes.md").unlink()
        (notes.parent / "away").rename(notes)
        until(lambda: "deleted posts 1" in log.read_text())
        process.terminate()
        assert process.wait(60) == 0


def test_what_changed_while_nobody_watched_is_taken_at_the_start(notes: Path) -> None:
    index = notes.parent / "index"
    with watching(notes, notes.parent / "first.log") as process:
        process.kill()
    (notes / "roots.md").write_text("# Irrational roots\n\nBy descent.\n", "utf-8")
    with watching(notes, notes.parent / "second.log"):
        assert f"{index}: replaced posts 1, " in (notes.parent / "second.log").read_text()


def test_an_index_inside_the_folder_is_refused_unless_it_is_hidden(notes: Path) -> None:
    with pytest.raises(PorismError, match="inside the folder that it follows"):
        FolderWatcher(notes, notes / "index", print)
    FolderWatcher(notes, notes / ".porism" / "index", print)
    with pytest.raises(PorismError, match="no such folder"):
        FolderWatcher(notes / "none", notes.parent / "index", print)


def test_an_empty_folder_is_waited_for(tmp_path: Path) -> None:
    said: list[str] = []
    watcher = FolderWatcher(tmp_path, tmp_path.parent / f"{tmp_path.name}-index", said.append)
    watcher._apply(frozenset())
    assert said == [f"{tmp_path}: no documents yet; the index is built when there is one"]


def test_a_failed_update_is_tried_again(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    watcher = FolderWatcher(notes, notes.parent / "index", said.append)
    watcher._started = True
    results = iter([PorismError("disk full", where="index"), None])

    def update(_: frozenset[str]) -> None:
        if error := next(results):
            raise error

    monkeypatch.setattr(watcher, "_update", update)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    watcher._apply(frozenset({"roots.md"}))
    assert said == ["index: disk full; trying again in 10 seconds"]
