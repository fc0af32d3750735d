"""Tar files of others as backups: hostile ones are refused in time, those of all formats are read."""

from __future__ import annotations

import io
import signal
import tarfile
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.web.site.archive import tar_files
from porism.web.site.backup import LIST, restore


def header(
    name: bytes = b"a", kind: bytes = b"0", size: bytes = b"0", content: bytes = b"", checksum: int = 0
) -> bytes:
    """Return a header of a tar file, whatever it says, with its right checksum, and what follows it."""
    block = bytearray(
        name.ljust(100, b"\0") + b"0000644\0" * 3 + size.rjust(11, b"0")[:12].ljust(12, b"\0") + b"0" * 12
    )
    block += b" " * 8 + kind + bytes(100) + b"ustar\x0000"
    block = block.ljust(512, b"\0")
    block[148:156] = b"%06o\0 " % (sum(block) + checksum)
    return bytes(block) + content.ljust(-(-len(content) // 512) * 512, b"\0")


def pax(*records: bytes, kind: bytes = b"x") -> bytes:
    """Return an extended header of POSIX."""
    content = b"".join(records)
    return header(b"pax", kind, b"%o" % len(content), content)


NEGATIVE = b"\xff" * 10 + b"\xfe\x00"  # -512: back to the header itself
LONG = b"9" * 60_000 + b"\n"
HOSTILE_TARS = {
    "negative size": (header() + header(size=NEGATIVE), "a header is damaged"),
    "negative size of a long name": (header(b"x", b"L", NEGATIVE), "a header is damaged"),
    "negative size of a record": (header() + pax(b"14 size=-1536\n") + header(), "a size is no number"),
    "negative size of a sparse file": (pax(b"24 GNU.sparse.size=-512\n"), "files with holes"),
    "a size of other digits": (pax("12 size=٣\n".encode()) + header(), "a size is no number"),
    "a huge size": (header(size=b"7" * 11), "cut off"),
    "a huge size in base 256": (header(size=b"\x80" + b"\xff" * 11), "cut off"),
    "a huge size of a record": (pax(b"28 size=9999999999999999999\n") + header(), "cut off"),
    "digits without end": (pax(LONG), "a header is damaged"),
    "keys without end": (pax(b"5 " * 30_000), "a header is damaged"),
    "a record of length 0": (pax(b"0 a=b\n"), "a header is damaged"),
    "a record that is too short": (pax(b"3 path=x\n"), "a header is damaged"),
    "a header that is too long": (header(kind=b"x", size=b"%o" % 100_000, content=bytes(100_000)), "too long"),
    "a chain of long names": (header(kind=b"L", size=b"4", content=b"name") * 300, "it has no backup.json"),
    "a chain of records": (pax(b"10 path=x\n") * 300, "it has no backup.json"),
    "a chain of global records": (pax(b"10 path=x\n", kind=b"g") * 300, "it has no backup.json"),
    "an old sparse file": (header(kind=b"S", size=b"10"), "files with holes"),
    "a wrong checksum": (header(checksum=1), "a header is damaged"),
    "links, devices and pipes": (
        b"".join(header(LIST.encode(), b"%d" % kind) for kind in range(1, 7)),
        "no backup.json",
    ),
    "a folder of this name": (header(LIST.encode() + b"/"), "it has no backup.json"),
    "a name with a zero": (pax(b"22 path=backup.json\0x\n") + header(), "it has no backup.json"),
    "a cut header": (header()[:140], "a header is damaged"),
    "an unknown kind": (header(LIST.encode(), b"Z") + header(LIST.encode(), b"D"), "it has no backup.json"),
}


@pytest.mark.parametrize("kind", HOSTILE_TARS)
def test_reading_a_hostile_tar_file_ends(tmp_path: Path, kind: str) -> None:
    content, fact = HOSTILE_TARS[kind]
    (tmp_path / "x.tar").write_bytes(content + bytes(1024))
    signal.setitimer(signal.ITIMER_PROF, 10)  # its signal ends the process, whatever holds it
    try:
        with pytest.raises(PorismError, match=fact):
            restore(tmp_path / "x.tar", tmp_path / "restored")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    assert not (tmp_path / "restored").exists()


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tar_files_of_all_formats_are_read_as_python_reads_them(tmp_path: Path, format: int) -> None:
    long = "folder/" * 20 + "n" * 90
    names = ["a", "b" * 99, "p" * 80 + "/" + "q" * 90, *([] if format == tarfile.USTAR_FORMAT else [long, "é" * 80])]
    with tarfile.open(tmp_path / "x.tar", "w", format=format) as tar:
        for number, name in enumerate(names):
            info = tarfile.TarInfo(name)
            info.size, info.mode = 700 * number, 0o640
            tar.addfile(info, io.BytesIO(b"x" * info.size))
            link = tarfile.TarInfo(f"link{number}")
            link.type, link.linkname = tarfile.SYMTYPE, "a"
            tar.addfile(link)
    with open(tmp_path / "x.tar", "rb") as file, tarfile.open(tmp_path / "x.tar") as tar:
        ours = [(one.name, one.mode, one.size, one.stream.read()) for one in tar_files(file)]
        theirs = [(one.name, one.mode, one.size, tar.extractfile(one).read()) for one in tar if one.isreg()]  # type: ignore[union-attr]
    assert ours == theirs
    assert [name for name, *_ in ours] == names


def test_a_size_beyond_octal_digits_is_read(tmp_path: Path) -> None:
    content = (
        pax(b"13 size=1000\n")
        + header(size=b"0", content=b"y" * 1000)
        + header(b"b", size=b"\x80" + bytes(9) + b"\x01\x00")
    )
    (tmp_path / "x.tar").write_bytes(content + b"z" * 512)
    with open(tmp_path / "x.tar", "rb") as file:
        assert [(one.name, one.size, one.stream.read(3)) for one in tar_files(file)] == [
            ("a", 1000, b"yyy"),
            ("b", 256, b"zzz"),
        ]
