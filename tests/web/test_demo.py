"""The demo in a folder that an earlier demo left."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.integrity import seal
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


def test_a_foreign_folder_is_left_alone(demo: Path, tmp_path: Path) -> None:
    place = copied(demo, tmp_path / "demo")
    shutil.rmtree(place / "index")
    (place / "index").mkdir()
    (place / "index/letter.txt").write_text("mine", "utf-8")
    with pytest.raises(PorismError, match="is not a finished index"):
        run_demo(place, SAMPLE, "127.0.0.1", 0, serve_it=False)
    assert (place / "index/letter.txt").read_text("utf-8") == "mine"
