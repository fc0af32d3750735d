"""A dump as downloaded: one .7z archive, whose members are unpacked one at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, Any, NamedTuple

from porism.corpus.sources.dump import FILES, read_rows
from porism.corpus.sources.raw import Meter, Part, Record
from porism.errors import PorismError
from porism.unpacking import Expansion


class Member(NamedTuple):
    """A file of an archive: its name and its unpacked size, as the archive says."""

    name: str
    size: int


class SevenZip:
    """A .7z archive of the XML files of a dump."""

    kind = "7z"
    official = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def parts(self) -> Sequence[Part]:
        """Return the members that are files of a dump."""
        members = self._members()
        if "Posts" not in members:
            raise PorismError(
                "there is no Posts.xml in the archive", where=str(self.path), fix="name the archive of a dump"
            )
        self._expansion().check(sum(member.size for member in members.values()))
        return [self._part(name, members[name]) for name in FILES if name in members]

    def _expansion(self) -> Expansion:
        return Expansion(self.path.stat().st_size, str(self.path))

    def _part(self, name: str, member: Member) -> Part:
        meter = Meter()
        read = lambda: self._read(name, member, meter)  # noqa: E731
        return Part(member.name, member.size, self.path.stat().st_mtime_ns, read, meter)

    def _members(self) -> dict[str, Member]:
        import py7zr

        try:
            with py7zr.SevenZipFile(self.path) as archive:
                there = {Path(entry.filename).name.lower(): entry for entry in archive.list() if not entry.is_directory}
        except Exception as error:  # damaged headers raise errors of many kinds
            raise self._broken(error) from None
        names = {name: there.get(f"{name}.xml".lower()) for name in FILES}
        return {
            name: Member(entry.filename, int(entry.uncompressed or 0))
            for name, entry in names.items()
            if entry is not None
        }

    def _broken(self, error: BaseException, member: str = "") -> PorismError:
        where = f"{self.path}: {member}" if member else str(self.path)
        return PorismError(
            f"the archive cannot be read ({error or type(error).__name__})", where=where, fix="fetch the archive again"
        )

    def _read(self, name: str, member: Member, meter: Meter) -> Iterator[Record]:
        """Unpack one member into a temporary file without a name, which ends with the process however that ends, and read it."""
        with tempfile.TemporaryFile(prefix="porism-") as file:
            if not self._unpack(member, file):
                raise self._broken(ValueError("the member is missing"), member.name)
            file.seek(0)
            with closing(file):
                where = f"{self.path}: {member.name}"
                yield from read_rows(name, lambda: file, where, placed=False, meter=meter)

    def _unpack(self, member: Member, file: IO[bytes]) -> bool:
        """Write a member of the archive to a file. Return whether it is there."""
        import py7zr

        output = _Output(file, self._expansion())
        try:
            with py7zr.SevenZipFile(self.path) as archive:
                archive.extract(targets=[member.name], factory=output)
        except PorismError:
            raise
        except OSError as error:
            if error.errno is not None:  # of the disk, not of the archive
                fix = "free disk space, or set TMPDIR to a folder on a larger disk"
                raise PorismError(f"cannot be unpacked: {error.strerror}", where=str(self.path), fix=fix) from None
            raise self._broken(error, member.name) from None
        except Exception as error:  # damaged members raise errors of many kinds
            raise self._broken(error, member.name) from None
        return output.written


class _Output:
    """What py7zr writes a member to: a file, within limits. It is both the factory and the product of py7zr's protocol."""

    def __init__(self, file: IO[bytes], expansion: Expansion) -> None:
        self._file = file
        self._expansion = expansion
        self.written = False

    def create(self, filename: str) -> Any:
        """Return where a member is written to."""
        self.written = True
        return self

    def write(self, data: bytes) -> int:
        """Write a block."""
        self._expansion.add(len(data))
        return self._file.write(data)

    def read(self, size: int | None = None) -> bytes:
        """Read back what was written; py7zr does not."""
        return self._file.read(-1 if size is None else size)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Set the position."""
        return self._file.seek(offset, whence)

    def flush(self) -> None:
        """Write to disk."""
        self._file.flush()

    def size(self) -> int:
        """Return the number of bytes."""
        return self._file.tell()

    def close(self) -> None:
        """Keep the file open: it is read next."""
