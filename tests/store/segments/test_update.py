"""`porism update`: an index follows its source. Documents keep their ids by path; doing it again changes nothing."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import porism
from porism.cli import main
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.store.embedded.build import build_index
from porism.store.embedded.segments.merging import merge
from porism.store.updating import update_from_lines, update_from_source
from store.segments.answers import assert_same
from store.segments.site import MemorySource, Site, index_site, make_site

NOTES = {
    "roots.md": "# Irrational roots\n\nSuppose $\\sqrt{2}=p/q$.\n",
    "sub/triangle.md": "# Right triangles\n\nThen $a^2+b^2=c^2$.\n",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    for name, text in NOTES.items():
        (tmp_path / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / name).write_text(text, "utf-8")
    with Collection.open(build([open_source(tmp_path / "notes", "")], tmp_path / "collection", jobs=1)) as collection:
        build_index(collection, tmp_path / "index")
    return tmp_path


def found(index: Path, query: str) -> list[int]:
    return [hit.id for hit in porism.open(index).search(query, kind="questions").hits]


def test_an_edited_note_replaces_itself(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = found(notes / "index", "irrational roots")
    (notes / "notes" / "roots.md").write_text("# Irrational roots\n\nBy descent, no $p^2=2q^2$.\n", "utf-8")
    (notes / "notes" / "a-first.md").write_text("# Cubes\n\nThe sum $x^3+y^3$.\n", "utf-8")
    (notes / "notes" / "sub" / "triangle.md").unlink()
    assert main(["update", str(notes / "index"), str(notes / "notes")]) == 0
    shown = "added posts 1, deleted posts 1, replaced posts 1"
    assert capsys.readouterr().out == f"{notes / 'index'}: {shown}\n"
    assert found(notes / "index", "irrational roots") == before
    assert found(notes / "index", "descent") == before
    assert len(found(notes / "index", "cubes")) == 1
    assert found(notes / "index", "right triangles") == []
    assert main(["update", str(notes / "index"), str(notes / "notes")]) == 0
    assert capsys.readouterr().out == f"{notes / 'index'}: nothing has changed\n"


def test_lines_of_json_change_an_index(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = '{"id": 70, "title": "Primes", "body": "<p>twin primes $p+2$</p>", "tags": ["number-theory"]}\n'
    lines += '{"id": 71, "parent_id": 70, "body": "<p>unsolved</p>"}\n{"comment": 72, "post_id": 71, "body": "still"}\n'
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert main(["update", str(notes / "index"), "-"]) == 0
    assert found(notes / "index", "twin primes") == [70]
    update_from_lines(notes / "index", ['{"delete": 70}'], "here")
    assert found(notes / "index", "twin primes") == []


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("{", "not a valid change"),
        ('{"id": 1}', "not a valid change: the body is missing"),
        ('{"id": 1, "body": "", "x": 1}', "unknown key 'x'"),
    ],
)
def test_a_wrong_line_is_named(notes: Path, line: str, fact: str) -> None:
    with pytest.raises(PorismError) as error:
        update_from_lines(notes / "index", ['{"delete": 5}', line], "changes.jsonl")
    assert "changes.jsonl:2" in str(error.value)
    assert fact in str(error.value)


def test_a_newer_dump_gives_what_building_it_gives(tmp_path: Path) -> None:
    site = make_site(4, 8)
    index = index_site(site, tmp_path / "live")
    newer = Site(site.random, dict(site.posts), dict(site.comments), dict(site.links), site.following)
    newer.forget(newer.questions()[0])
    newer.grow(2)
    first = next(iter(newer.comments))
    del newer.comments[first]
    delta = update_from_source(index, MemorySource(newer.records()))
    assert delta.counts["deleted posts"]
    assert not update_from_source(index, MemorySource(newer.records()))
    merge(index, everything=True)
    assert_same(index, index_site(newer, tmp_path / "fresh"))
