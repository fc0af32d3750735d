"""The demo in a folder that an earlier demo left."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.integrity import seal
from porism.web.server import demo as demo_module
from porism.web.server.demo import demo as run_demo

SAMPLE = Path(__file__).parents[2] / "sample"


def copied(demo: Path, place: Path) -> Path:
    shutil.copytree(demo, place)
    return place


def test_an_index_of_another_version_is_rebuilt(demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = copied(demo, tmp_path / "demo")
    manifest = place / "index/manifest.json"
    manifest.write_text(seal(json.loads(manifest.read_text("utf-8")) | {"terms": "other"}), "utf-8")
    run_demo(place, SAMPLE, "127.0.0.1", 0, serve_it=False)
    said = capsys.readouterr().err
    assert "collection exists" in said
    assert "was built by another version of Porism; making it again" in said
    run_demo(place, SAMPLE, "127.0.0.1", 0, serve_it=False)
    assert "index exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("npm", "said"),
    [
        ("#!/bin/sh\necho no network >&2; exit 1\n", "editor: not installed: npm could not fetch mathlive"),
        ("", "editor: not installed: npm is not installed"),
    ],
)
def test_the_demo_works_where_the_editor_cannot_be_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], npm: str, said: str
) -> None:
    (tmp_path / "bin").mkdir()
    if npm:
        (tmp_path / "bin/npm").write_text(npm)
        (tmp_path / "bin/npm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(demo_module, "has_editor", lambda: False)
    monkeypatch.setattr(demo_module, "build", lambda sources, target, progress: target.mkdir(parents=True))
    monkeypatch.setattr(demo_module, "build_index", lambda content, target, progress: target.mkdir())
    monkeypatch.setattr(demo_module, "open_content", lambda place: None)
    run_demo(tmp_path / "demo", SAMPLE, "127.0.0.1", 0, serve_it=False, editor=True)
    assert said in capsys.readouterr().err
    monkeypatch.setattr(demo_module, "serve", lambda *_: None)
    run_demo(tmp_path / "other", SAMPLE, "127.0.0.1", 0)
    assert "editor: not installed (porism site editor install" in capsys.readouterr().err


def test_a_foreign_folder_is_left_alone(demo: Path, tmp_path: Path) -> None:
    place = copied(demo, tmp_path / "demo")
    shutil.rmtree(place / "index")
    (place / "index").mkdir()
    (place / "index/letter.txt").write_text("mine", "utf-8")
    with pytest.raises(PorismError, match="not a Porism index"):
        run_demo(place, SAMPLE, "127.0.0.1", 0, serve_it=False)
    assert (place / "index/letter.txt").read_text("utf-8") == "mine"
