from __future__ import annotations

import errno
import gzip
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.files import atomic_directory, atomic_file, digest_file, open_text


def test_open_text_reads_compressed_files_and_drops_the_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress("\ufeffαβγ\r\nzwei".encode()))
    with open_text(path) as stream:
        assert stream.read() == "αβγ\nzwei"


def test_a_missing_file_is_reported_with_path_and_fix(tmp_path: Path) -> None:
    with pytest.raises(PorismError) as caught:
        open_text(tmp_path / "none.tsv")
    assert str(caught.value) == f"{tmp_path}/none.tsv: no such file\n  fix: check the path"


def test_atomic_file_leaves_nothing_when_interrupted(tmp_path: Path) -> None:
    target = tmp_path / "out.tsv"
    target.write_text("old")

    def fail() -> None:
        with atomic_file(target) as out:
            out.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_is_reported_as_porism_error(tmp_path: Path) -> None:
    def fail() -> None:
        with atomic_file(tmp_path / "x"):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(PorismError, match="cannot be written: No space left on device"):
        fail()
    assert not list(tmp_path.iterdir())


def test_atomic_directory_refuses_an_existing_one(tmp_path: Path) -> None:
    target = tmp_path / "index"
    with atomic_directory(target) as work:
        (work / "a").write_text("1")
    assert (target / "a").read_text() == "1"

    def again() -> None:
        with atomic_directory(target):
            pass

    with pytest.raises(PorismError, match="already exists"):
        again()


def test_digest_is_sha256(tmp_path: Path) -> None:
    (tmp_path / "e").write_bytes(b"")
    assert digest_file(tmp_path / "e") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
