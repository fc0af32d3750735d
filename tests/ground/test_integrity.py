"""Sealed documents: every byte counts."""

from __future__ import annotations

from pathlib import Path

from porism.errors import PorismError
from porism.integrity import FileChecksum, damaged_files, describe_file, read_sealed, seal, smallest


def test_no_changed_byte_of_a_sealed_document_is_unnoticed(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(seal({"kind": "x", "files": {"a": {"size": 1}}, "title": "é"}), "utf-8")
    data = path.read_bytes()
    whole = read_sealed(path, "again")
    assert whole.intact
    assert whole.document["title"] == "é"
    for at in range(len(data)):
        for bit in range(8):
            path.write_bytes(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
            try:
                document, intact = read_sealed(path, "again")
            except PorismError:
                continue
            assert not intact or not document.keys() <= {"kind", "files", "title"}, (at, bit)


def test_files_are_compared(tmp_path: Path) -> None:
    for name, content in (("a", b"1"), ("b", b"22"), ("c", b"333")):
        (tmp_path / name).write_bytes(content)
    files = {name: describe_file(tmp_path / name) for name in "abc"} | {"d": FileChecksum(1, "0" * 32)}
    (tmp_path / "b").write_bytes(b"23")
    (tmp_path / "c").write_bytes(b"33")
    facts = {Path(damage.part).name: damage.fact for damage in damaged_files(tmp_path, files, "again")}
    assert facts == {
        "b": "is damaged: its checksum is wrong",
        "c": "has 2 bytes and should have 3",
        "d": "is missing",
    }
    assert list(smallest(files, 4)) == ["a", "d", "b"]
