"""A store in a folder: the index that `porism index` made, and the collection that it was built from. Verifying reads
every file of both and compares it with its checksum."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

from porism.analysis.terms import ENCODER
from porism.corpus.content import Content
from porism.corpus.store.collection import Collection
from porism.corpus.store.parts import REBUILD as REBUILD_COLLECTION
from porism.corpus.store.schema import DATABASE, MANIFEST
from porism.errors import PorismError
from porism.integrity import (
    Damage,
    DamageError,
    FileChecksum,
    StoredFile,
    Verification,
    Verify,
    check_opened,
    damaged_files,
    leftovers,
)
from porism.progress import Progress, Silent
from porism.store.embedded.learned import read_concepts, read_vocabulary
from porism.store.embedded.manifest import NAME, RANKING, REBUILD, SEARCH, Manifest, read_manifest, save_manifest
from porism.store.embedded.segments.reading import open_segments
from porism.store.local import LocalSnapshot, counts_of
from porism.store.protocols import Learned, LogPosition, StoreStatus
from porism.store.records import StoreInfo
from porism.store.weighting import ViewCounts

if TYPE_CHECKING:
    from porism.store.embedded.segments.writer import IndexWriter

NO_ENCODER = "none"  # in place of a model: search without vectors of posts


def verify_place(path: Path, progress: Progress | None = None) -> list[Verification]:
    """Read all files of a collection, or of an index and its collection."""
    if not (path / MANIFEST).is_file():
        fix = "name a folder that porism build or porism index made, or a journal"
        raise PorismError("neither an index nor a collection", where=str(path), fix=fix)
    if (path / DATABASE).is_file():  # also if its manifest is damaged
        return [verify_collection(path, progress)]
    own = verify_index(path, progress)
    if not own.files:
        return [own]
    try:
        return [own, verify_collection(collection_of(path), progress)]
    except PorismError as error:
        return [own, _unreadable(collection_of(path), "collection", error)]


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
    # What is no damage but should be known: folders of killed processes, files without a checksum.
    remarks = (*leftovers(path), *([] if files else [f"{path} has no checksums: an earlier version made it"]))
    return Verification(str(path), kind, len(files), size, damages, remarks)


def _unreadable(path: Path, kind: str, error: PorismError) -> Verification:
    return Verification(str(path), kind, 0, 0, (Damage(error.where, error.message, error.fix),))


class ContentSnapshot:
    """Content without terms: what is read of terms is refused in one sentence."""

    def __init__(self, address: str, content: Content) -> None:
        self.content = content
        counts = ViewCounts(0, 0.0)
        self.info = StoreInfo(address, content.name, 0, content.digest, {}, lambda *_: counts, frozenset(), False)

    @property
    def learned(self) -> Learned:
        """Nothing is learned without an index."""
        self._refuse()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        place = self.info.address
        raise PorismError(
            "a collection, not an index", where=place, fix=f"index it: porism index {place} -o {place}-index"
        )

    statistics = search = threads = formulas = posts = locate = _refuse


class EmbeddedStore:
    """An index in a folder. `encoder` is where the model of its vectors is now, or NO_ENCODER to leave the vectors out;
    `verify` says what is compared with its checksums before it is read: "quick" the smaller files, "all" every file,
    "none" nothing but sizes."""

    def __init__(self, path: str | Path, verify: Verify = "quick", encoder: str | Path | None = None) -> None:
        self.path = Path(path)
        self._verify: Verify = verify
        self.address = str(self.path)
        self._encoder = encoder
        self._damage_lock = Lock()

    def status(self) -> StoreStatus:
        """Return what the newest commit is, by its manifest."""
        manifest = read_manifest(self.path, SEARCH)
        encoder = manifest.options.get(ENCODER)
        return StoreStatus(
            manifest.generation,
            manifest.collection,
            len(manifest.segments),
            sum(file.size for file in manifest.files.values()),
            (self.path / NAME).stat().st_mtime,
            manifest.log_position,
            manifest.counts,
            str(json.loads(str(encoder))["model"]["digest"]) if encoder else "",
            str(manifest.options.get(RANKING, "")),
            f"format {manifest.format}",
            {name: manifest.options.get(name, True) for name in ("links", "vectors")},
        )

    def version(self) -> object:
        """Return the state of the manifest."""
        state = (self.path / NAME).stat()
        return state.st_mtime_ns, state.st_ino

    def maintain(self, everything: bool = False, progress: Progress | None = None) -> bool:
        """Merge segments that are too many, or all of them."""
        from porism.store.embedded.segments.merging import merge

        return merge(self.path, everything=everything, progress=progress)

    def files(self) -> list[StoredFile]:
        """Return the files of the index and of its collection."""
        place = collection_of(self.path)
        with Collection.open(place, verify="none") as collection:
            of_collection = dict(collection.files)
        own = read_manifest(self.path, SEARCH).files
        fix = REBUILD.format(self.path)
        return [
            *(StoredFile(self.path, name, file, fix) for name, file in own.items()),
            *(StoredFile(place, name, file, REBUILD_COLLECTION) for name, file in of_collection.items()),
        ]

    def verify(self, progress: Progress | None = None) -> list[Verification]:
        """Read every file of the index and of its collection."""
        return verify_commit(self.path, progress)

    @cached_property
    def _damages(self) -> tuple[Damage, ...]:
        return tuple(damage for one in self.verify() for damage in one.damages)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Report an unexpected error as damage of the files, if there is any. They are read at most once."""
        try:
            yield
        except PorismError:
            raise
        except Exception as error:
            with self._damage_lock:
                damages = self._damages
            if not damages:
                raise
            raise DamageError.of(damages[0]) from error

    def writer(self, source: str = "update", wait: float = 0.0) -> IndexWriter:
        """Return a writer of the index."""
        # A search needs nothing of what builds an index, and starts sooner without it.
        from porism.store.embedded.segments.writer import IndexWriter

        return IndexWriter(self.path, source, wait=wait)

    def record_ranking(self, text: str) -> None:
        """Store the factors of ranking in the manifest. The index has a writer already: this process."""
        manifest = read_manifest(self.path, SEARCH)
        options = {name: value for name, value in manifest.options.items() if name != RANKING}
        options |= {RANKING: text} if text else {}
        if options != manifest.options:
            save_manifest(self.path, replace(manifest, options=options, generation=manifest.generation + 1))

    def snapshot(self) -> LocalSnapshot:
        """Open the newest commit, or say what is wrong and what to run. Index and collection are of the same commit."""
        while True:
            manifest = read_manifest(self.path, SEARCH)
            try:
                return self._open(manifest)
            except (PorismError, OSError):
                # A merge may have replaced files while they were opened: then a later commit can be opened.
                if read_manifest(self.path, SEARCH).generation == manifest.generation:
                    raise

    def _open(self, manifest: Manifest) -> LocalSnapshot:
        collection = self._collection(manifest)
        check_opened(self.path, manifest.files, REBUILD.format(self.path), self._verify)
        opened, learned = open_segments(self.path, manifest), self.path / manifest.segments[0].name
        encoded = None
        if self._encoder != NO_ENCODER and (ENCODER in manifest.options or self._encoder is not None):
            from porism.store.embedded.encoding import open_encoded  # most indexes have none, and need nothing for them

            encoded = open_encoded(self.path, manifest, self._encoder)
        place, name = self.path.resolve(), collection.name
        if collection.path.resolve().is_relative_to(place):  # an update has put it there: it has the name of the index
            name = place.parent.name if place.name == "index" else place.name
        info = StoreInfo(
            self.address,
            name,
            manifest.generation,
            collection.digest,
            *counts_of(opened.documents, opened.formulas),
            has_links=bool(manifest.options.get("links", True)),
        )
        known = Learned(
            opened.formulas,
            read_concepts(learned / "posts"),
            read_vocabulary(learned),
            opened.documents.vectors,
            str(manifest.options.get(RANKING, "")),
            None if encoded is None else encoded.encoder,
        )
        return LocalSnapshot(info, known, collection, opened.documents, opened.formulas, encoded)

    def _collection(self, manifest: Manifest) -> Collection:
        home = (self.path / str(manifest.options["collection"])).resolve()
        collection = Collection.open(home, self._verify)
        if collection.digest != manifest.collection:
            raise PorismError(
                f"was built from another collection than the one at {home}",
                where=str(self.path),
                fix=f"build the index again: porism index {home} -o {self.path}",
            )
        return collection


class CollectionStore:
    """A collection in a folder, without an index: content only."""

    def __init__(self, path: str | Path, verify: Verify = "quick") -> None:
        self.path = Path(path)
        self.address = str(self.path)
        self._verify: Verify = verify

    def status(self) -> StoreStatus:
        """Return what the collection is."""
        collection = Collection.open(self.path, "none")
        files = collection.files.values()
        written = (self.path / NAME).stat().st_mtime
        counts = collection.manifest["counts"]
        return StoreStatus(0, collection.digest, 1, sum(file.size for file in files), written, LogPosition(), counts)

    def version(self) -> object:
        """Return the same always: a collection without an index does not change."""
        return 0

    def maintain(self, everything: bool = False, progress: Progress | None = None) -> bool:
        """Do nothing."""
        return False

    def files(self) -> list[StoredFile]:
        """Return no files: nobody serves a collection without an index."""
        return []

    def verify(self, progress: Progress | None = None) -> list[Verification]:
        """Read every file of the collection."""
        return verify_commit(self.path, progress)

    def snapshot(self) -> ContentSnapshot:
        """Open the collection."""
        return ContentSnapshot(self.address, Collection.open(self.path, self._verify))

    def record_ranking(self, text: str) -> None:
        """Refuse, as `writer` does."""
        self.writer()

    def writer(self, source: str = "update", wait: float = 0.0) -> IndexWriter:
        """Refuse: an index is changed, with its collection."""
        fix = f"index it: porism index {self.path} -o INDEX"
        raise PorismError("a collection, which does not change", where=self.address, fix=fix)


def open_folder(
    path: str | Path, verify: Verify = "quick", encoder: str | Path | None = None
) -> EmbeddedStore | CollectionStore:
    """Return the store of a folder: an index, or a collection without one."""
    if (Path(path) / DATABASE).is_file():
        return CollectionStore(path, verify)
    return EmbeddedStore(path, verify, encoder)


def open_folder_content(path: str | Path, verify: Verify = "quick") -> Content:
    """Open the content of a collection, or of that of an index, of which nothing is read but its manifest."""
    store = open_folder(path, verify)
    if isinstance(store, CollectionStore) or not (store.path / NAME).is_file():
        return Collection.open(path, verify)
    return store._collection(read_manifest(store.path, SEARCH))
