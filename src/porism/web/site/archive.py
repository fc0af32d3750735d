"""Where a backup is written: a folder or one tar file. Both compute checksums and can be read again."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from xxhash import xxh3_128

from porism.integrity import BLOCK, WRONG, Damage, FileChecksum, damaged_files

AGAIN = "make the backup again"
# Tar files: the unit of length, and the kinds of headers.
TAR_BLOCK = 512
LONGEST_EXTENSION = 1 << 16
REGULAR = (b"0", b"\0", b"7")
WITHOUT_CONTENT = (b"1", b"2", b"3", b"4", b"5", b"6")  # links, devices, folders, pipes
# Of POSIX: for the next file, for all; of GNU: long names of files and of what they link to.
EXTENSIONS = (b"x", b"g", b"L", b"K")
SPARSE = b"S"


class HashingReader(io.RawIOBase):
    """A stream that computes the checksum of what is read from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._total, self.size = stream, xxh3_128(), 0

    def readable(self) -> bool:
        """Return true."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read bytes."""
        block = self._stream.read(size)
        self._total.update(block)
        self.size += len(block)
        return block

    @property
    def checksum(self) -> FileChecksum:
        """Return the checksum of all that was read."""
        return FileChecksum(self.size, self._total.hexdigest())


class FolderArchive:
    """A new backup in a folder. It is dropped unless `is_complete` was set."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.is_complete = folder, False

    def add_file(self, name: str, source: Path) -> FileChecksum:
        """Copy a file."""
        with open(source, "rb") as stream:
            reader = HashingReader(stream)
            target = self._new(name)
            mode = os.fstat(stream.fileno()).st_mode & 0o777
            with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as out:
                while block := reader.read(BLOCK):
                    out.write(block)
                out.flush()
                os.fsync(out.fileno())
        return reader.checksum

    def add_bytes(self, name: str, content: bytes) -> None:
        """Write a small file."""
        with open(self._new(name), "xb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())

    def _new(self, name: str) -> Path:
        target = self._folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def close(self) -> None:
        """Do nothing: every file is on disk already."""

    def damages(self, files: Mapping[str, FileChecksum], advance: Callable[[int], None]) -> Iterator[Damage]:
        """Read all files again."""
        return damaged_files(self._folder, files, AGAIN, advance)


class TarArchive:
    """A new backup in one tar file. It is dropped unless `is_complete` was set."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.is_complete = file, False
        self._tar = tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115

    def add_file(self, name: str, source: Path) -> FileChecksum:
        """Copy a file. Its size is fixed when the copy begins: a log may grow meanwhile."""
        with open(source, "rb") as stream:
            state = os.fstat(stream.fileno())
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = state.st_size, state.st_mode & 0o777, int(state.st_mtime)
            reader = HashingReader(stream)
            self._tar.addfile(info, reader)
        return reader.checksum

    def add_bytes(self, name: str, content: bytes) -> None:
        """Write a small file."""
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(content), 0o644
        self._tar.addfile(info, io.BytesIO(content))

    def close(self) -> None:
        """Write the end of the file, and wait until it is on disk."""
        self._tar.close()
        self._file.flush()
        os.fsync(self._file.fileno())

    def damages(self, files: Mapping[str, FileChecksum], advance: Callable[[int], None]) -> Iterator[Damage]:
        """Read the tar file again."""
        found = set()
        with open(self._file.name, "rb") as tar:
            for stored in tar_files(tar):
                if stored.name in files:
                    found.add(stored.name)
                    reader = HashingReader(stored.stream)
                    while block := reader.read(BLOCK):
                        advance(len(block))
                    if reader.checksum != files[stored.name]:
                        yield Damage(stored.name, WRONG, AGAIN)
        yield from (Damage(name, "is missing", AGAIN) for name in files if name not in found)


Archive = FolderArchive | TarArchive


class ArchivedFile(NamedTuple):
    """A file of a backup: its name, its rights, its size and its content, which must be read before the next one."""

    name: str
    mode: int
    size: int
    stream: IO[bytes]


class BadTar(Exception):
    """A tar file that cannot be read; the message says why."""


class _Header(NamedTuple):
    """A header of a tar file: a name, rights, a size, and the kind of what follows."""

    name: str
    mode: int
    size: int
    kind: bytes


def tar_files(tar: IO[bytes]) -> Iterator[ArchivedFile]:
    """Yield the regular files of a tar file in the formats of POSIX and GNU; leave links, folders and devices out.

    Python's own reader trusts headers: a negative size makes it read the same header again, and long headers take it
    quadratic time. Here every header is checked, and every step leads forward, so that reading takes time in proportion
    to the file.
    """
    end = tar.seek(0, os.SEEK_END)
    at = 0
    name, size = "", -1  # what a header before the next one says of it
    while at < end:
        tar.seek(at)
        block = tar.read(TAR_BLOCK)
        if not block.strip(b"\0"):
            return
        header = _header(block)
        at += TAR_BLOCK
        of_itself = size < 0 or header.kind in EXTENSIONS
        length = 0 if header.kind in WITHOUT_CONTENT else header.size if of_itself else size
        if length > end - at:
            raise BadTar("it is cut off")
        if header.kind in EXTENSIONS:
            name, size = _extended(header, tar, name, size)
        elif header.kind == SPARSE:
            raise BadTar("it has files with holes")
        else:
            if header.kind in REGULAR:
                window = io.BufferedReader(_Window(tar, at, length), BLOCK)
                yield ArchivedFile(name or header.name, header.mode & 0o777, length, window)
            name, size = "", -1
        at += -(-length // TAR_BLOCK) * TAR_BLOCK


def _header(block: bytes) -> _Header:
    """Read a header of 512 bytes."""
    if len(block) < TAR_BLOCK or _number(block[148:156]) != sum(block[:148]) + sum(block[156:]) + 8 * ord(" "):
        raise BadTar("a header is damaged")
    name, prefix = (_text(block[start:stop]) for start, stop in ((0, 100), (345, 500)))
    if prefix and block[257:263] == b"ustar\0":
        name = f"{prefix}/{name}"
    kind = b"5" if name.endswith("/") and block[156:157] in REGULAR else block[156:157]
    return _Header(name, _number(block[100:108]), _number(block[124:136]), kind)


def _extended(header: _Header, tar: IO[bytes], name: str, size: int) -> tuple[str, int]:
    """Read a header that extends the next one; return the name and size that it says, or those said before."""
    if header.size > LONGEST_EXTENSION:
        raise BadTar("a header is too long")
    content = tar.read(header.size)
    if header.kind == b"L":
        return _text(content), size
    records = dict(_records(content)) if header.kind == b"x" else {}
    if any(key.startswith("GNU.sparse") for key in records):
        raise BadTar("it has files with holes")
    said = records.get("size", str(max(size, 0)))
    if not (said.isascii() and said.isdecimal() and len(said) < 20):
        raise BadTar("a size is no number")
    return records.get("path", name), int(said) if "size" in records else size


def _records(content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the records `LENGTH KEY=VALUE` of an extended POSIX header; the length counts the whole record."""
    at = 0
    while content[at : at + 1].strip(b"\0"):
        digits, _, _ = content[at : at + 20].partition(b" ")
        length = int(digits) if digits.isdigit() else 0
        record = content[at + len(digits) + 1 : at + length]
        key, equals, value = record[:-1].partition(b"=")
        if not equals or not record.endswith(b"\n"):
            raise BadTar("a header is damaged")
        yield key.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape")
        at += length


def _number(field: bytes) -> int:
    """Read a number: octal digits or, with the first bit set, base 256. None is negative."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if digits.strip(b"01234567"):
        raise BadTar("a header is damaged")
    return int(digits or b"0", 8)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")


class _Window(io.RawIOBase):
    """A part of a file as a stream."""

    def __init__(self, stream: IO[bytes], start: int, size: int) -> None:
        self._stream, self._at, self._end = stream, start, start + size

    def readable(self) -> bool:
        """Return true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer."""
        self._stream.seek(self._at)
        data = self._stream.read(min(len(buffer), self._end - self._at))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
