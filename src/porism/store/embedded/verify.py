"""Verify indexes and collections: read every file and compare it with its checksum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock

from porism.corpus.store.collection import Collection
from porism.corpus.store.parts import REBUILD as REBUILD_COLLECTION
from porism.corpus.store.schema import DATABASE, MANIFEST
from porism.errors import PorismError
from porism.integrity import Damage, DamageError, FileChecksum, StoredFile, Verification, damaged_files, leftovers
from porism.progress import Progress, Silent
from porism.store.embedded.manifest import REBUILD, SEARCH, read_manifest


def verify_place(path: Path, progress: Progress | None = None) -> list[Verification]:
    """Read all files of a collection, or of an index and its collection."""
    if not (path / MANIFEST).is_file():
        fix = "name a folder that porism build or porism index made, or a journal"
        raise PorismError("neither an index nor a collection", where=str(path), fix=fix)
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


def verify_commit(path: Path, progress: Progress | None = None) -> list[Verification]:
    """Read all files as `verify_place` does, again if an update has replaced files meanwhile."""
    while True:
        before = _commit(path)
        found = verify_place(path, progress)
        if not any(one.damages for one in found) or _commit(path) == before:
            return found


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


def _verified(
    path: Path, kind: str, files: Mapping[str, FileChecksum], fix: str, progress: Progress | None
) -> Verification:
    size = sum(file.size for file in files.values())
    with (progress or Silent()).stage(f"verify {path.name}", size) as advance:
        damages = tuple(damaged_files(path, files, fix, advance))
    return Verification(str(path), kind, len(files), size, damages, _remarks_on(path, files))


def _unreadable(path: Path, kind: str, error: DamageError) -> Verification:
    return Verification(str(path), kind, 0, 0, (Damage(error.where, error.message, error.fix),))


def _remarks_on(path: Path, files: Mapping[str, FileChecksum]) -> tuple[str, ...]:
    """Return what is no damage but should be known: folders of killed processes, files without a checksum."""
    return (*leftovers(path), *([] if files else [f"{path} has no checksums: an earlier version made it"]))


class DamageFinder:
    """Explains errors of an opened index by damage of its files, if there is any. Files are read at most once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()

    @cached_property
    def _damages(self) -> tuple[Damage, ...]:
        return tuple(damage for one in verify_commit(self._path) for damage in one.damages)

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
