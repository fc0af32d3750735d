"""An index that is unfinished, truncated, or of another kind or version is refused, with the command that repairs
it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.integrity import DamageError, seal
from porism.store.embedded.manifest import FORMAT, NAME, read_manifest, write_manifest


@pytest.fixture
def index(tmp_path: Path) -> Path:
    (tmp_path / "terms").mkdir()
    (tmp_path / "terms" / "a.bin").write_bytes(b"12345")
    write_manifest(tmp_path, "formulas", "c" * 64, options={"levels": 4}, counts={"formulas": 3})
    return tmp_path


def message(caught: pytest.ExceptionInfo[PorismError]) -> str:
    return str(caught.value)


def test_round_trip(index: Path) -> None:
    manifest = read_manifest(index, "formulas", collection="c" * 64)
    assert manifest.options == {"levels": 4}
    assert manifest.counts == {"formulas": 3}
    assert list(manifest.files) == ["terms/a.bin"]


def test_unfinished(index: Path) -> None:
    (index / NAME).unlink()
    with pytest.raises(PorismError) as caught:
        read_manifest(index, "formulas")
    assert message(caught) == (
        f"{index}: not a Porism index (no manifest.json)\n  fix: build the index again: porism index COLLECTION -o {index}"
    )
    with pytest.raises(PorismError) as caught:
        read_manifest(index / "none", "formulas")
    assert message(caught) == (
        f"{index}/none: no such folder\n  fix: check the path, or build the index: porism index COLLECTION -o {index}/none"
    )


def test_wrong_kind(index: Path) -> None:
    with pytest.raises(PorismError, match="an index of formulas, not of posts"):
        read_manifest(index, "posts")


def test_wrong_collection(index: Path) -> None:
    with pytest.raises(PorismError, match=r"was built from another collection \(cccccccccccc, not dddddddddddd\)"):
        read_manifest(index, "formulas", collection="d" * 64)


def test_newer_format(index: Path) -> None:
    raw = json.loads((index / NAME).read_text())
    (index / NAME).write_text(json.dumps({**raw, "format": 99}))
    with pytest.raises(PorismError) as caught:
        read_manifest(index, "formulas")
    assert message(caught).startswith(
        f"{index}: index format 99 is newer than this version of Porism reads ({FORMAT})\n  fix: update Porism, or"
    )


@pytest.mark.parametrize("change", [{"format": 1}, {"terms": "0123"}])
def test_older_format_or_other_hashes(index: Path, change: dict[str, int | str]) -> None:
    raw = json.loads((index / NAME).read_text())
    (index / NAME).write_text(seal({**raw, **change}))
    with pytest.raises(PorismError) as caught:
        read_manifest(index, "formulas")
    assert message(caught) == (
        f"{index}: was built by another version of Porism\n"
        f"  fix: build the index again: porism index COLLECTION -o {index}"
    )


@pytest.mark.parametrize(("content", "fact"), [(b"123", "has 3 bytes and should have 5"), (None, "is missing")])
def test_truncated_or_missing_file(index: Path, content: bytes | None, fact: str) -> None:
    path = index / "terms" / "a.bin"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(PorismError, match=f"terms/a.bin {fact}"):
        read_manifest(index, "formulas")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"files": 3}'])
def test_broken_manifest(index: Path, text: str) -> None:
    (index / NAME).write_text(text)
    with pytest.raises(
        DamageError, match=r"is not a manifest that can be read|is damaged: it is not an object of JSON"
    ):
        read_manifest(index, "formulas")


def test_a_collection_is_not_an_index(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"kind": "collection", "format": 1}')
    with pytest.raises(PorismError) as caught:
        read_manifest(tmp_path, "search")
    assert (
        str(caught.value)
        == f"{tmp_path}: a collection, not an index\n  fix: index it: porism index {tmp_path} -o {tmp_path}-index"
    )
