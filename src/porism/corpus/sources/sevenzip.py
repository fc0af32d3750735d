"""A dump as downloaded: one .7z archive, whose members are unpacked one at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from porism.corpus.sources.dump import FILES, read_rows
from porism.corpus.sources.raw import Meter, Part, Record
from porism.errors import PorismError
from porism.files import open_bytes


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
        return [self._part(name, *members[name]) for name in FILES if name in members]

    def _part(self, name: str, member: str, size: int) -> Part:
        meter = Meter()
        return Part(member, size, self.path.stat().st_mtime_ns, lambda: self._read(name, member, meter), meter)

    def _members(self) -> dict[str, tuple[str, int]]:
        import py7zr

        try:
            with py7zr.SevenZipFile(self.path) as archive:
                there = {Path(entry.filename).name.lower(): entry for entry in archive.list() if not entry.is_directory}
        except (py7zr.exceptions.ArchiveError, OSError, EOFError) as error:
            raise self._broken(error) from None
        names = {name: there.get(f"{name}.xml".lower()) for name in FILES}
        return {name: (entry.filename, entry.uncompressed) for name, entry in names.items() if entry is not None}

    def _broken(self, error: BaseException, member: str = "") -> PorismError:
        where = f"{self.path}: {member}" if member else str(self.path)
        return PorismError(
            f"the archive cannot be read ({error or type(error).__name__})", where=where, fix="fetch the archive again"
        )

    def _read(self, name: str, member: str, meter: Meter) -> Iterator[Record]:
        """Unpack one member into a temporary folder, read it, and remove it."""
        import lzma
        import zlib

        import py7zr

        faults = (py7zr.exceptions.ArchiveError, lzma.LZMAError, zlib.error, OSError, EOFError, ValueError)
        with tempfile.TemporaryDirectory(prefix="porism-") as folder:
            try:
                with py7zr.SevenZipFile(self.path) as archive:
                    archive.extract(path=folder, targets=[member])
            except faults as error:
                raise self._broken(error, member) from None
            file = Path(folder) / member
            if not file.is_file():
                raise self._broken(ValueError("the member is missing"), member)
            yield from read_rows(name, lambda: open_bytes(file), f"{self.path}: {member}", placed=False, meter=meter)
