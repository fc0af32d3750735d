"""A second dump of the sample, in which one post of a hundred differs, gives what building it gives."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.store.embedded.build import build_index
from porism.store.embedded.segments.merging import merge
from porism.store.protocols import IndexOptions
from porism.store.updating import update_from_source

ROOT = Path(__file__).resolve().parents[3]
QUERIES = ["proof that $\\sqrt{2}$ is irrational", "$x_{1}^2+1=y$", "another way to compute an integral"]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    return importlib.import_module("bench.dump_update")


def index_of(made: Path, place: Path) -> Path:
    """Index a collection, without vectors, which take long to learn."""
    with Collection.open(made) as collection:
        build_index(collection, place, IndexOptions(vectors=False))
    return place


def test_one_post_of_a_hundred(demo: Path, tmp_path: Path, bench: Any) -> None:
    changes = bench.vary_dump(ROOT / "sample" / "dump", tmp_path / "dump-of-june", 0.01)
    assert changes == (4, 1, 1)
    shutil.copytree(demo / "collection", tmp_path / "live-collection")
    live = index_of(tmp_path / "live-collection", tmp_path / "live")
    # A newer dump is usually in a folder with another name.
    delta = update_from_source(live, open_source(tmp_path / "dump-of-june", ""))
    counts = {name: number for name, number in delta.counts.items() if "posts" in name and number}
    assert counts == {"replaced posts": 4, "added posts": 1, "deleted posts": 1}
    merge(live, everything=True)
    built = build([open_source(tmp_path / "dump-of-june", "")], tmp_path / "collection", jobs=1)
    first, second = bench.hits_of(live, QUERIES), bench.hits_of(index_of(built, tmp_path / "anew"), QUERIES)
    assert all(second)
    assert bench.same_rankings(first, second) == len(second)
    assert bench.largest_difference(first, second) < 1e-6


def test_a_dump_without_changes_is_recognised(demo: Path, tmp_path: Path, bench: Any) -> None:
    shutil.copytree(demo, tmp_path / "live")
    bench.vary_dump(ROOT / "sample" / "dump", tmp_path / "dump", 0.0)  # the same rows, written by another program
    assert not update_from_source(tmp_path / "live" / "index", open_source(tmp_path / "dump", ""))


def test_a_dump_that_lacks_most_posts_needs_consent(demo: Path, tmp_path: Path) -> None:
    shutil.copytree(demo, tmp_path / "live")
    (tmp_path / "other").mkdir()
    row = '<row Id="999999" PostTypeId="1" CreationDate="2020-01-01T00:00:00.000" Score="1" Title="Other" Body="x" Tags="&lt;a&gt;" />'
    (tmp_path / "other" / "Posts.xml").write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<posts>\n{row}\n</posts>\n')
    live, source = tmp_path / "live" / "index", open_source(tmp_path / "other", "")
    before = (live / "manifest.json").read_bytes()
    with pytest.raises(PorismError, match="the source lacks 604 of the 604 posts that the index has"):
        update_from_source(live, source)
    assert (live / "manifest.json").read_bytes() == before
    assert update_from_source(live, source, delete_many=True).counts["deleted posts"] == 604
