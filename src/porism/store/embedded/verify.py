"""Verify indexes and collections: read every file and compare it with its checksum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from porism.corpus.store.collection import REBUILD as REBUILD_COLLECTION
from porism.corpus.store.collection import Collection
from porism.corpus.store.schema import DATABASE, MANIFEST
from porism.errors import PorismError
from porism.files import litter
from porism.integrity import Damage, DamageError, FileChecksum, damaged_files
from porism.progress import Progress, Silent
from porism.store.embedded.manifest import REBUILD, SEARCH, read_manifest


@dataclass(frozen=True, slots=True)
class Verification:
    """What `porism verify` found: the number of files (of a journal: rows) and bytes that were read, what is damaged, and remarks."""

    path: str
    kind: str
    files: int
    bytes: int
    damages: tuple[Damage, ...] = ()
    remarks: tuple[str, ...] = ()
    unit: str = "files"


def verify_place(path: Path, progress: Progress | None = None) -> list[Verification]:
    """Read all files of a collection, or of an index and its collection."""
    if not (path / MANIFEST).is_file():
        fix = "name a folder that porism build or porism index made, or a journal"
        raise PorismError("is neither an index nor a collection", where=str(path), fix=fix)
    if is_collection(path):
        return [verify_collection(path, progress)]
    own = verify_index(path, progress)
    if not own.files:
        return [own]
    try:
        return [own, verify_collection(collection_of(path), progress)]
    except PorismError as error:
        place = str(collection_of(path))
        return [own, Verification(place, "collection", 0, 0, (Damage(error.where, error.message, error.fix),))]


def is_collection(path: Path) -> bool:
    """Return whether a folder is a collection and not an index, also if its manifest is damaged."""
    return (path / DATABASE).is_file()


def verify_collection(path: Path, progress: Progress | None = None) -> Verification:
    """Read all files of a collection."""
    try:
        with Collection.open(path, verify="none") as collection:
            return _verified(path, "collection", collection.files, REBUILD_COLLECTION, progress)
    except DamageError as error:
        return _unreadable(path, "collection", error)


def verify_index(path: Path, progress: Progress | None = None) -> Verification:
    """Read all files of an index."""
    try:
        files = read_manifest(path, SEARCH).files
    except DamageError as error:
        return _unreadable(path, "index", error)
    return _verified(path, "index", files, REBUILD.format(path), progress)


def collection_of(path: Path) -> Path:
    """Return the place of the collection that an index was built from."""
    return (path / str(read_manifest(path, SEARCH).options["collection"])).resolve()


def index_damages(path: Path, progress: Progress | None = None) -> tuple[Damage, ...]:
    """Read an index and its collection, and return what is damaged in either.

    An update may replace files while they are read: then the later state is read, too.
    """
    while True:
        before = _commit(path)
        damages = tuple(damage for one in verify_place(path, progress) for damage in one.damages)
        if not damages or _commit(path) == before:
            return damages


class StoredFile(NamedTuple):
    """A file of an index or of its collection, as it was written, and what to run if it is damaged."""

    folder: Path
    name: str
    expected: FileChecksum
    fix: str


def stored_files(path: Path) -> list[StoredFile]:
    """Return the files of an index and of its collection."""
    place = collection_of(path)
    with Collection.open(place, verify="none") as collection:
        of_collection = dict(collection.files)
    fix = REBUILD.format(path)
    own = [StoredFile(path, name, file, fix) for name, file in read_manifest(path, SEARCH).files.items()]
    return own + [StoredFile(place, name, file, REBUILD_COLLECTION) for name, file in of_collection.items()]


def _commit(path: Path) -> bytes:
    """Return the manifest as it is: an update changes it."""
    try:
        return (path / MANIFEST).read_bytes()
    except OSError:
        return b""


def index_bytes(path: Path) -> int:
    """Return how many bytes the files of an index and of its collection have."""
    with Collection.open(collection_of(path), verify="none") as collection:
        files = (*read_manifest(path, SEARCH).files.values(), *collection.files.values())
        return sum(file.size for file in files)


def _verified(
    path: Path, kind: str, files: Mapping[str, FileChecksum], fix: str, progress: Progress | None
) -> Verification:
    size = sum(file.size for file in files.values())
    with (progress or Silent()).stage(f"verify {path.name}", size) as advance:
        damages = tuple(damaged_files(path, files, fix, advance))
    return Verification(str(path), kind, len(files), size, damages, remarks_on(path, files))


def _unreadable(path: Path, kind: str, error: DamageError) -> Verification:
    return Verification(str(path), kind, 0, 0, (Damage(error.where, error.message, error.fix),))


def remarks_on(path: Path, files: Mapping[str, FileChecksum]) -> tuple[str, ...]:
    """Return what is no damage but should be known: unfinished folders of killed processes, files without a checksum."""
    left = [f"{work} was left by a killed process: rm -r {work}" for work in litter(path.parent)]
    partial = path.parent / f".{path.name}.partial"
    if partial.is_dir():
        left.append(f"{partial} is a stopped build: run its command again to continue it, or rm -r {partial}")
    if not files:
        left.append(f"{path} has no checksums: an earlier version made it")
    return tuple(left)


class DamageFinder:
    """Explains errors of an opened index: where files turn out to be damaged, that is the error. Files are read at most once."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = Lock()

    @cached_property
    def _damages(self) -> tuple[Damage, ...]:
        return () if self._path is None else index_damages(self._path)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Report an unexpected error as damage if there is any, and else as it is."""
        try:
            yield
        except PorismError:
            raise
        except Exception as error:
            with self._lock:
                damages = self._damages
            if not damages:
                raise
            raise DamageError.of(damages[0]) from error
