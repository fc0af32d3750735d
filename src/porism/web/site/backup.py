"""Back up an index with everything that belongs to it, while it is searched and changed; and restore a backup.

The files of an index and of its collection never change; the manifest says which belong to one commit. They are copied
without a lock. Should a writer remove one meanwhile, the copy starts again with the newer commit, and the last attempt
keeps writers waiting. The change log is copied before the manifest is read, so that a change is in one of them.
Journals are copied by SQLite. All files are read again and compared with their checksums before the backup gets its
name.

A backup is restored into a new folder. Every file is compared with its checksum; nothing is ever overwritten.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, pairwise
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from porism import __version__
from porism.corpus.store.collection import Collection
from porism.corpus.store.schema import MANIFEST
from porism.errors import PorismError
from porism.files import already_exists, atomic_directory, disk_error, remove_litter, unfinished_file
from porism.integrity import BLOCK, WRONG, DamageError, FileChecksum, describe_file, read_sealed, seal
from porism.lab.judging.journal import Journal
from porism.locks import only_writer
from porism.progress import Progress, Silent
from porism.store.embedded.manifest import SEARCH, read_manifest
from porism.store.embedded.store import collection_of
from porism.store.state import State
from porism.web.site.archive import Archive, ArchivedFile, BadTar, FolderArchive, HashingReader, TarArchive, tar_files

KIND, FORMAT = "porism site backup", 1
LIST = "backup.json"
DATA, JOURNALS, SITE = "data", "journals", "site"
ATTEMPTS = 3
WRITER_SECONDS = 600.0  # that the last attempt waits for a writer
VERIFY = "porism store verify {} names the damaged part"


@dataclass(frozen=True, slots=True)
class BackupList:
    """What a backup holds: its index, and all files with their checksums."""

    index: str
    files: dict[str, FileChecksum]

    @property
    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(file.size for file in self.files.values())


class Item(NamedTuple):
    """A file to copy: its name in the backup, and the checksum that it must have, if that is known."""

    name: str
    source: Path
    expected: FileChecksum | None = None


class Vanished(Exception):
    """A writer has removed a file that was about to be copied."""


def back_up(
    index: Path,
    target: Path,
    journals: Sequence[Path] = (),
    site: Sequence[Path] = (),
    progress: Progress | None = None,
) -> BackupList:
    """Write a backup of an index into a new folder, or a new file if its name ends with .tar; return what it holds."""
    if target.exists():
        raise already_exists(target)
    for attempt in range(1, ATTEMPTS + 1):
        with contextlib.ExitStack() as stack:
            if attempt == ATTEMPTS:
                stack.enter_context(only_writer(index.resolve(), wait=WRITER_SECONDS))
            archive = stack.enter_context(_new_archive(target))
            try:
                return _write(archive, index.resolve(), journals, site, progress or Silent())
            except Vanished:
                continue
    raise PorismError("files of the index disappear while they are copied", where=str(index), fix="try again later")


@contextlib.contextmanager
def _new_archive(target: Path) -> Iterator[Archive]:
    """Yield an archive that gets its name at the end of the block; after an error nothing is left of it."""
    if target.suffix != ".tar":
        with contextlib.suppress(_Dropped), atomic_directory(target) as folder:
            archive: Archive = FolderArchive(folder)
            yield archive
            if not archive.is_complete:
                raise _Dropped
        return
    try:
        # The file of a backup that was killed may be large, and its name may never come again.
        remove_litter(target.parent)
        with unfinished_file(target) as file:
            archive = TarArchive(file)
            yield archive
            archive.close()
            if archive.is_complete:
                if target.exists():
                    raise already_exists(target)
                os.replace(file.name, target)
    except OSError as error:
        raise disk_error(error, target) from error


class _Dropped(Exception):
    """An archive that is not complete: its folder is removed."""


def _write(
    archive: Archive, index: Path, journals: Sequence[Path], site: Sequence[Path], progress: Progress
) -> BackupList:
    """Copy everything into an archive, then read it again."""
    with tempfile.TemporaryDirectory() as place:
        items = [*_journal_items(journals, Path(place)), *_site_items(site)]
        # The nearest folder that holds the index and its collection: their relative places stay the same.
        folders = [index.parent, *(folder.parent for folder in _collection_folders(index))]
        root, state = Path(os.path.commonpath(folders)), State(index)
        # Changes that wait or could not be applied, and tokens.
        beside = [path for path in (state.log, state.rejected, state.tokens) if path.is_file()]
        items += [Item(_data_name(path, root), path) for path in beside]
        if len({item.name for item in items}) < len(items):
            raise PorismError("two files have the same name", fix="rename one of the journals or files of the site")
        files = {item.name: _copy(archive, item) for item in items}
        copies = {item.name: item for item in _index_items(index, root)}
        with progress.stage("copy", sum(item.source.stat().st_size for item in copies.values())) as advance:
            for item in copies.values():
                files[item.name] = _copy(archive, item)
                advance(files[item.name].size)
    made = BackupList(_data_name(index, root), files)
    document = {"kind": KIND, "format": FORMAT, "porism": __version__, **asdict(made)}
    archive.add_bytes(LIST, seal(document).encode())
    archive.close()
    with progress.stage("verify", made.size) as advance:
        for damage in archive.damages(files, advance):
            raise DamageError(damage.fact, where=damage.part, fix="check the disk, then make the backup again")
    archive.is_complete = True
    return made


def _copy(archive: Archive, item: Item) -> FileChecksum:
    """Copy one file. A file that is not as it was written is not copied silently."""
    try:
        found = archive.add_file(item.name, item.source)
    except FileNotFoundError:
        raise Vanished from None
    if item.expected is not None and item.expected != found:
        if item.source.name == MANIFEST:  # a commit came between, and the files to copy are those of the one before
            raise Vanished
        raise DamageError("is damaged", where=str(item.source), fix=VERIFY.format("INDEX"))
    return found


def _collection_folders(index: Path) -> list[Path]:
    """Return the folders of the collection of an index and of all its parts."""
    with Collection.open(collection_of(index), verify="none") as collection:
        return list(dict.fromkeys(path.resolve() for path in (collection.path, *collection.part_folders)))


def _data_name(path: Path, root: Path) -> str:
    return f"{DATA}/{path.relative_to(root).as_posix()}"


def _index_items(index: Path, root: Path) -> Iterator[Item]:
    """Yield the files of one commit of an index and of its collection."""
    before = describe_file(index / MANIFEST)
    try:
        files = read_manifest(index, SEARCH).files
        place = collection_of(index)
        with Collection.open(place, verify="none") as collection:
            own = {(place / name).resolve(): file for name, file in collection.files.items()}
        folders = _collection_folders(index)
    except PorismError:
        if describe_file(index / MANIFEST) != before:  # a commit came between
            raise Vanished from None
        raise
    if any(not path.is_relative_to(root) for path in own):
        raise Vanished
    yield Item(_data_name(index / MANIFEST, root), index / MANIFEST, before)
    for name, file in files.items():
        yield Item(_data_name(index / name, root), index / name, file)
    for folder in folders:
        if (folder / MANIFEST).is_file():
            yield Item(_data_name(folder / MANIFEST, root), folder / MANIFEST)
    for path, file in own.items():
        yield Item(_data_name(path, root), path, file)


def _journal_items(journals: Sequence[Path], place: Path) -> Iterator[Item]:
    """Copy journals of judgments by SQLite, which sees a whole state also while a server writes."""
    for number, path in enumerate(journals):
        copy = place / str(number) / path.name
        with contextlib.closing(Journal.open(path)) as journal:
            journal.backup(copy)
        yield Item(f"{JOURNALS}/{path.name}", copy)


def _site_items(site: Sequence[Path]) -> Iterator[Item]:
    for path in site:
        if not path.is_file():
            raise PorismError("not a file", where=str(path), fix="name the files of the site that exist")
        yield Item(f"{SITE}/{path.name}", path)


OTHER, MADE_BY = "restore another backup", "name what porism site backup made"
LARGEST_LIST = 100_000_000
LONGEST_NAME, DEEPEST = 4096, 200  # characters and folders of a name
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can bring them, and no name of a file has them


def restore(backup: Path, target: Path, progress: Progress | None = None) -> Path:
    """Write the files of a backup into a new folder; return the place of the index. Damage leaves nothing behind."""
    with atomic_directory(target) as folder:
        made = read_list(backup)
        free = shutil.disk_usage(folder).free
        if made.size > free:
            fact = f"holds {made.size:,} bytes, and {free:,} are free at {folder.parent}"
            raise PorismError(fact, where=str(backup), fix="restore it on another disk, or free space")
        left = dict(made.files)
        with (progress or Silent()).stage("restore", made.size) as advance:
            for stored in _stored_files(backup, made):
                _restore_file(folder, stored, left.pop(stored.name), advance)
        for name in left:
            raise DamageError(f"{name} is missing", where=str(backup), fix=OTHER)
        for path in (folder, *folder.rglob("*")):  # wait until all files are on disk
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
    return target / made.index


def read_list(backup: Path) -> BackupList:
    """Read what a backup holds, or report that it is none."""
    with _list_file(backup) as path:
        document, intact = read_sealed(path, OTHER)
    is_backup = document.get("kind") == KIND
    if not is_backup or document.get("format") != FORMAT:
        fix = "restore it with the version that made it" if is_backup else MADE_BY
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


@contextlib.contextmanager
def _list_file(backup: Path) -> Iterator[Path]:
    """Yield the list of a backup as a file."""
    none = PorismError(f"not a backup: it has no {LIST}", where=str(backup), fix=MADE_BY)
    if backup.is_dir():
        if not (backup / LIST).is_file() or (backup / LIST).stat().st_size > LARGEST_LIST:
            raise none
        yield backup / LIST
        return
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
        raise PorismError("does not exist", where=str(backup), fix=MADE_BY)
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
        fact = f"holds a file with the name {bad[:80]!r}"
        raise PorismError(fact, where=str(backup), fix="restore only your own backups")


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


def _restore_file(folder: Path, stored: ArchivedFile, expected: FileChecksum, advance: Callable[[int], None]) -> None:
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
