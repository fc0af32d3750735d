"""A dump in its archive."""

from __future__ import annotations

from pathlib import Path

import py7zr
import pytest

from porism.errors import PorismError

from .small import answer, built, comment, question, write_dump


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = write_dump(
        tmp_path / "d", Posts=[question(1, "<p>$x$</p>"), answer(2, 1, "<p>$y$</p>")], Comments=[comment(1, 2, "$z$")]
    )
    with py7zr.SevenZipFile(tmp_path / "site.7z", "w") as out:
        for file in sorted(folder.iterdir()):
            out.write(file, file.name)
    return tmp_path / "site.7z"


def test_an_archive_gives_the_same_collection_as_a_folder(archive: Path, tmp_path: Path) -> None:
    from_archive = built(tmp_path / "a", archive)
    from_folder = built(tmp_path / "b", tmp_path / "d")
    assert list(from_archive.formulas()) == list(from_folder.formulas())
    assert from_archive.count("posts") == 2


def test_a_broken_member_is_an_error_and_no_collection(archive: Path, tmp_path: Path) -> None:
    data = bytearray(archive.read_bytes())
    for at in range(40, 80):
        data[at] ^= 0x5A
    archive.write_bytes(data)
    with pytest.raises(PorismError) as error:
        built(tmp_path / "a", archive)
    assert error.value.where in (f"{archive}: Posts.xml", f"{archive}: Comments.xml", str(archive))
    assert error.value.message.startswith("the archive cannot be read (")
    assert error.value.fix == "fetch the archive again"
    assert not (tmp_path / "a").exists()


def test_a_truncated_archive(archive: Path, tmp_path: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:100])
    with pytest.raises(PorismError, match="the archive cannot be read"):
        built(tmp_path / "a", archive)


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    with py7zr.SevenZipFile(tmp_path / "x.7z", "w") as out:
        out.write(tmp_path / "x.txt", "x.txt")
    with pytest.raises(PorismError) as error:
        built(tmp_path / "a", tmp_path / "x.7z")
    assert (
        str(error.value) == f"{tmp_path}/x.7z: there is no Posts.xml in the archive\n  fix: name the archive of a dump"
    )
