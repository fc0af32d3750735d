"""Where a backup is written: a folder, or one tar file. Both compute checksums while they copy, and can be read again."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Protocol

from xxhash import xxh3_128

from porism.integrity import BLOCK, WRONG, Damage, FileChecksum, damaged_files

AGAIN = "make the backup again"


class Archive(Protocol):
    """A new backup. It is dropped unless `is_complete` was set."""

    is_complete: bool

    def add_file(self, name: str, source: Path) -> FileChecksum:
        """Copy a file, with its rights, and return the checksum of what was read."""
        ...

    def add_bytes(self, name: str, content: bytes) -> None:
        """Write a small file."""
        ...

    def close(self) -> None:
        """Wait until everything is on disk."""
        ...

    def damages(self, files: Mapping[str, FileChecksum], advance: Callable[[int], None]) -> Iterator[Damage]:
        """Read what was written, and yield what differs."""
        ...


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
    """A backup in a folder."""

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
    """A backup in one tar file."""

    def __init__(self, path: Path) -> None:
        self._path, self.is_complete = path, False
        self._file = open(path, "wb")  # noqa: SIM115
        self._tar = tarfile.open(fileobj=self._file, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115

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
        if not self._file.closed:
            self._tar.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    def damages(self, files: Mapping[str, FileChecksum], advance: Callable[[int], None]) -> Iterator[Damage]:
        """Read the tar file again."""
        return tar_damages(self._path, files, advance)


def tar_damages(
    path: Path, files: Mapping[str, FileChecksum], advance: Callable[[int], None] = lambda _: None
) -> Iterator[Damage]:
    """Read the files of a tar file, and yield those that are missing or differ from their checksums."""
    found = set()
    with tarfile.open(path, "r:") as tar:
        for info in tar:
            stream = tar.extractfile(info) if info.isreg() else None
            if stream is None or info.name not in files:
                continue
            found.add(info.name)
            reader = HashingReader(stream)
            while block := reader.read(BLOCK):
                advance(len(block))
            if reader.checksum != files[info.name]:
                yield Damage(info.name, WRONG, AGAIN)
    yield from (Damage(name, "is missing", AGAIN) for name in files if name not in found)
