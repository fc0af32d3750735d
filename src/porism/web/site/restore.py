"""Restore a backup into a new folder. Every file is compared with its checksum; nothing is ever overwritten."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path, PurePosixPath
from typing import IO

from porism.errors import PorismError
from porism.files import atomic_directory
from porism.integrity import BLOCK, WRONG, DamageError, FileChecksum, read_sealed
from porism.progress import Progress, Silent
from porism.web.site.archive import ArchivedFile, BadTar, HashingReader, tar_files
from porism.web.site.backup import FORMAT, KIND, LIST, BackupList

OTHER = "restore another backup"
LARGEST_LIST = 100_000_000
LONGEST_NAME, DEEPEST = 4096, 200  # characters and folders of a name
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can bring them, and no name of a file has them


def restore(backup: Path, target: Path, progress: Progress | None = None) -> Path:
    """Write the files of a backup into a new folder; return the place of the index. Damage leaves nothing behind."""
    with atomic_directory(target) as folder:
        made = read_list(backup)
        _check_space(folder, made, backup)
        left = dict(made.files)
        with (progress or Silent()).stage("restore", made.size) as advance:
            for stored in _stored_files(backup, made):
                _write(folder, stored, left.pop(stored.name), advance)
        for name in left:
            raise DamageError(f"{name} is missing", where=str(backup), fix=OTHER)
        _sync(folder)
    return target / made.index


def read_list(backup: Path) -> BackupList:
    """Read what a backup holds, or report that it is none."""
    with _list_file(backup) as path:
        document, intact = read_sealed(path, OTHER)
    if document.get("kind") != KIND or document.get("format") != FORMAT:
        fix = (
            "name what porism site backup made"
            if document.get("kind") != KIND
            else "restore it with the version that made it"
        )
        raise PorismError("not a backup of this version of Porism", where=str(backup), fix=fix)
    if not intact:
        raise DamageError(WRONG, where=f"{backup}: {LIST}", fix=OTHER)
    files, index = _files(document.get("files")), document.get("index")
    if files is None or not isinstance(index, str):
        raise DamageError("is not a list of files", where=f"{backup}: {LIST}", fix=OTHER)
    _check_names(files, index, backup)
    return BackupList(index, files)


def _files(listed: object) -> dict[str, FileChecksum] | None:
    """Return the files of a list with their checksums, or None if it is no such list."""
    try:
        found = {name: FileChecksum(**one) for name, one in dict(listed).items()}  # type: ignore[call-overload]
    except (TypeError, ValueError):
        return None
    sound = all(type(one.size) is int and one.size >= 0 and isinstance(one.digest, str) for one in found.values())
    return found if sound else None


def _check_space(folder: Path, made: BackupList, backup: Path) -> None:
    free = shutil.disk_usage(folder).free
    if made.size > free:
        fact = f"holds {made.size:,} bytes, and {free:,} are free at {folder.parent}"
        raise PorismError(fact, where=str(backup), fix="restore it on another disk, or free space")


@contextlib.contextmanager
def _list_file(backup: Path) -> Iterator[Path]:
    """Yield the list of a backup as a file."""
    none = PorismError(f"not a backup: it has no {LIST}", where=str(backup), fix="name what porism site backup made")
    if backup.is_dir():
        if not (backup / LIST).is_file() or (backup / LIST).stat().st_size > LARGEST_LIST:
            raise none
        yield backup / LIST
        return
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / LIST
        with _opened(backup) as tar:
            found = next((one for one in tar_files(tar) if one.name == LIST), None)
            if found is None or found.size > LARGEST_LIST:
                raise none
            copy.write_bytes(found.stream.read())
        yield copy


@contextlib.contextmanager
def _opened(backup: Path) -> Iterator[IO[bytes]]:
    """Open a tar file; what cannot be read of it is reported."""
    if not backup.is_file():
        raise PorismError("does not exist", where=str(backup), fix="name what porism site backup made")
    try:
        with open(backup, "rb") as tar:
            yield tar
    except BadTar as error:
        raise DamageError(f"is not a tar file that can be read: {error}", where=str(backup), fix=OTHER) from None


def _check_names(files: Iterable[str], index: str, backup: Path) -> None:
    """Refuse names that lead out of the target, or into a file, which is sorted right before what is inside it."""
    names = sorted(name.split("/") for name in files)
    inside = ("/".join(name) for one, name in pairwise(names) if name[: len(one)] == one)
    around = (index for name in files if index.startswith(f"{name}/"))
    bad = next(chain(filter(_is_bad, (*files, index)), inside, around), None)
    if bad is not None:
        raise PorismError(
            f"holds a file with the name {bad[:80]!r}", where=str(backup), fix="restore only your own backups"
        )


def _is_bad(name: str) -> bool:
    if len(name) > LONGEST_NAME or "\0" in name or _SURROGATE.search(name):
        return True
    path = PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts or str(path) != name or not 0 < len(path.parts) <= DEEPEST


def _stored_files(backup: Path, made: BackupList) -> Iterator[ArchivedFile]:
    """Yield the files that the list names; whatever else is there is left out."""
    if backup.is_dir():
        for name in made.files:
            path = backup / name
            if path.is_file() and path.resolve() == backup.resolve() / name:  # no symbolic link on the way
                with open(path, "rb") as stream:
                    state = os.fstat(stream.fileno())
                    yield ArchivedFile(name, state.st_mode & 0o777, state.st_size, stream)
        return
    seen = set()
    with _opened(backup) as tar:
        for stored in tar_files(tar):
            if stored.name in made.files and stored.name not in seen:
                seen.add(stored.name)
                yield stored


def _write(folder: Path, stored: ArchivedFile, expected: FileChecksum, advance: Callable[[int], None]) -> None:
    target = folder / stored.name
    target.parent.mkdir(parents=True, exist_ok=True)
    reader = HashingReader(stored.stream)
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stored.mode | 0o600), "wb") as out:
        # One byte more than announced shows that a file is too long; a hole in a tar file may be of any length.
        while block := reader.read(min(BLOCK, expected.size + 1 - reader.size)):
            out.write(block)
            advance(len(block))
    if reader.checksum != expected:
        raise DamageError(WRONG, where=stored.name, fix=OTHER)


def _sync(folder: Path) -> None:
    """Wait until all files are on disk."""
    for path in (folder, *folder.rglob("*")):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
