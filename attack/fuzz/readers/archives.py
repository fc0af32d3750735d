"""Readers of packed files: a dump as .7z, .gz, .bz2 and .xz; a backup as a tar file."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import tarfile
import tempfile
import zlib
from collections.abc import Hashable, Sequence
from functools import cache
from pathlib import Path

from xxhash import xxh3_128

from attack.fuzz.reader import Reader, Wrong
from attack.small import write_dump
from porism.corpus.sources.dump import Dump, SevenZip
from porism.corpus.sources.raw import Source
from porism.errors import PorismError
from porism.integrity import seal
from porism.web.site.archive import BadTar, tar_files
from porism.web.site.backup import FORMAT, KIND, LIST, restore

_MAGIC = {b"7z": ".7z", b"\x1f\x8b": ".gz", b"BZ": ".bz2", b"\xfd7": ".xz"}


def _read(source: Source) -> int:
    return sum(1 for part in source.parts() for _ in part.read())


def read_archive(data: bytes) -> Hashable:
    """Read a dump in an archive, by its first two bytes."""
    suffix = _MAGIC.get(data[:2], (".7z", ".gz", ".bz2", ".xz")[len(data) % 4])
    data = _with_checksums_of_7z(data) if suffix == ".7z" and len(data) % 2 else data
    with tempfile.TemporaryDirectory() as folder:
        if suffix == ".7z":
            path = Path(folder) / "dump.7z"
            path.write_bytes(data)
            return suffix, _read(SevenZip(path)).bit_length()
        (Path(folder) / f"Posts.xml{suffix}").write_bytes(data)
        return suffix, _read(Dump(Path(folder))).bit_length()


@cache
def _packed() -> Sequence[bytes]:
    """Return a small dump in each kind of archive."""
    import py7zr

    with tempfile.TemporaryDirectory() as folder:
        dump = write_dump(Path(folder), threads=2)
        posts = (dump / "Posts.xml").read_bytes()
        archives = (io.BytesIO(), io.BytesIO())
        for is_packed, archive in enumerate(archives):  # the header plain, where changes reach it, and packed
            with py7zr.SevenZipFile(archive, "w") as packed:
                packed.set_encoded_header_mode(bool(is_packed))
                packed.writestr(posts, "Posts.xml")
                packed.writestr((dump / "Users.xml").read_bytes(), "Users.xml")
    return (
        *(archive.getvalue() for archive in archives),
        gzip.compress(posts, mtime=0),
        bz2.compress(posts),
        lzma.compress(posts),
    )


def _with_checksums_of_7z(data: bytes) -> bytes:
    """Return an archive with the right checksums of its headers, so that changes reach what reads them."""
    offset = int.from_bytes(data[12:20], "little")
    header = data[32 + offset :]
    start = data[12:20].ljust(8, b"\0") + len(header).to_bytes(8, "little") + zlib.crc32(header).to_bytes(4, "little")
    return data[:8].ljust(8, b"\0") + zlib.crc32(start).to_bytes(4, "little") + start + data[32:]


def read_tar(data: bytes) -> Hashable:
    """Restore a tar file. Nothing may be written outside the target."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "backup.tar"
        path.write_bytes(_with_checksums_of_tar(data))
        number = 0
        with path.open("rb") as file, contextlib.suppress(BadTar):
            for stored in tar_files(file):
                number += 1
                stored.stream.read()
        try:
            restore(path, Path(folder) / "restored")
        except PorismError as error:
            return number, error.message[:40]
        finally:
            if sorted(one.name for one in Path(folder).iterdir()) not in (["backup.tar"], ["backup.tar", "restored"]):
                raise Wrong("files are left outside the target")
        return number, "restored"


def _with_checksums_of_tar(data: bytes) -> bytes:
    """Return a tar file whose headers have right checksums."""
    blocks = [bytearray(data[at : at + 512]) for at in range(0, len(data), 512)]
    for block in blocks:
        if block[257:262] == b"ustar" and len(block) == 512:
            block[148:156] = b" " * 8
            block[148:156] = b"%06o\0 " % sum(block)
    return b"".join(blocks)


@cache
def _tars() -> Sequence[bytes]:
    """Return backups of one file, in each format of tar files, with a long name, records, links and devices."""
    files = {"data/index": b"content", "a/" * 60 + "e": b"more content" * 50}
    sums = {name: {"size": len(text), "digest": xxh3_128(text).hexdigest()} for name, text in files.items()}
    document = seal({"kind": KIND, "format": FORMAT, "index": "data/index", "files": sums}).encode()
    made = []
    for format in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=format) as tar:
            for name, text in {**files, LIST: document}.items():
                info = tarfile.TarInfo(name)
                info.size = len(text)
                info.pax_headers = {"size": str(len(text)), "comment": "9" * 40} if format == tarfile.PAX_FORMAT else {}
                tar.addfile(info, io.BytesIO(text))
            for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
                link = tarfile.TarInfo("data/link")
                link.type, link.linkname = kind, "../../x"
                tar.addfile(link)
        made.append(packed.getvalue())
    return made


# What headers of tar files say: kinds, sizes (octal, of base 256, negative), records.
_TAR_TOKENS = ("\x00", "x", "g", "L", "K", "S", "5", "7", "ustar\x0000", "77777777777", "00000000000", "20 size=-512\n", "13 size=1024\n", "10 path=x\n", "29 GNU.sparse.realsize=1000\n", "9" * 400, "0 a=b\n")  # fmt: skip
READERS = (
    Reader("archives", 15, read_archive, binary=True, longest=20_000, seeds=_packed, block=100),
    Reader("tars", 15, read_tar, tokens=_TAR_TOKENS, binary=True, longest=40_000, seeds=_tars, block=100),
)
