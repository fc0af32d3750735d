"""Readers of packed files: a dump as .7z, .gz, .bz2 and .xz."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tempfile
from collections.abc import Hashable, Sequence
from functools import cache
from pathlib import Path

from attack.fuzz.reader import Reader
from attack.small import write_dump
from porism.corpus.sources.dump import Dump
from porism.corpus.sources.raw import Source
from porism.corpus.sources.sevenzip import SevenZip

_MAGIC = {b"7z": ".7z", b"\x1f\x8b": ".gz", b"BZ": ".bz2", b"\xfd7": ".xz"}


def _read(source: Source) -> int:
    return sum(1 for part in source.parts() for _ in part.read())


def read_archive(data: bytes) -> Hashable:
    """Read a dump in an archive, by its first two bytes."""
    suffix = _MAGIC.get(data[:2], (".7z", ".gz", ".bz2", ".xz")[len(data) % 4])
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
        archive = io.BytesIO()
        with py7zr.SevenZipFile(archive, "w") as packed:
            packed.writestr(posts, "Posts.xml")
            packed.writestr((dump / "Users.xml").read_bytes(), "Users.xml")
    return archive.getvalue(), gzip.compress(posts, mtime=0), bz2.compress(posts), lzma.compress(posts)


READERS = (Reader("archives", 15, read_archive, binary=True, longest=20_000, seeds=_packed, block=100),)
