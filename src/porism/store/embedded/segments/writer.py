"""Change an index: put and delete posts, then commit. Each commit adds one small segment; what is there stays as it is.

The manifest of the index is the commit point. It names the segments, their deletions and the collection, and is
replaced atomically, so a reader sees all of a commit or nothing of it. What a writer that died has left is removed by
the next one."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from porism.corpus.store.collection import Collection
from porism.corpus.store.parts import part_folders
from porism.corpus.update.changes import Changes
from porism.corpus.update.delta import DeltaWriter
from porism.files import sync_folder
from porism.integrity import FileChecksum, describe_file
from porism.locks import only_writer
from porism.progress import Silent
from porism.store.embedded.build import collection_counts
from porism.store.embedded.encoding import encode_new_segment
from porism.store.embedded.formulas.build import FormulaPart, build_formula_index
from porism.store.embedded.manifest import SEARCH, Manifest, Retired, SegmentEntry, read_manifest, save_manifest
from porism.store.embedded.posts.build import SegmentFolders, write_posts
from porism.store.embedded.posts.store import EmbeddedPosts
from porism.store.embedded.segments.opening import (
    Deletions,
    IndexSegment,
    delete_formulas,
    delete_threads,
    no_deletions,
    open_segment,
    save_deletions,
)
from porism.store.embedded.terms.dictionary import Dictionary
from porism.store.embedded.vectors import project_vectors
from porism.store.local_writer import LocalWriter
from porism.store.protocols import LogPosition

Ints = npt.NDArray[np.int64]


def write_later_segment(
    directory: Path,
    collection: Collection,
    questions: Sequence[int],
    part: FormulaPart,
    links: bool,
    first: EmbeddedPosts,
) -> None:
    """Write a segment of threads and formulas, with vectors on the basis of the first segment."""
    folders = SegmentFolders.of(directory)
    build_formula_index(collection, folders.formulas, codes=folders.codes, part=part)
    write_posts(collection, folders, links, Silent(), np.array(sorted(questions), np.int64))
    for family, vectors in first.vectors.items():
        codes = first.terms.dictionary(family).find_hashes(Dictionary(folders.posts / family).by_id())
        project_vectors(folders.posts, family, folders.rows, vectors, codes)
    shutil.rmtree(folders.passing)


FOLDER = "segments"
GRACE = 600.0  # seconds for which replaced files stay, for readers that are just opening them
COLLECTION = "collection"
SYNC_THREADS = 16
MERGE = "merge-"  # the folder of a merge that is under way: this, and the number of its process


class IndexWriter(LocalWriter):
    """Changes an index. Use it in a `with` statement; changes that are not committed are dropped.

    with IndexWriter("index") as writer:
        writer.put([RawPost(...)])
        writer.delete([42])
        writer.commit()
    """

    def __init__(self, index: str | Path, source: str = "update", *, wait: float = 0.0) -> None:
        """Open an index to change it. New posts name `source` as their origin; `wait`: seconds for another writer."""
        super().__init__(source)
        self.index = Path(index)
        self._wait = wait
        self._stack = ExitStack()

    def __enter__(self) -> IndexWriter:
        with ExitStack() as stack:
            stack.enter_context(only_writer(self.index, wait=self._wait))
            # No other process commits while this one holds the lock.
            self._manifest = read_manifest(self.index, SEARCH)
            remove_unused(self.index, self._manifest)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.close()

    def collection(self) -> Collection:
        """Open the collection of the index."""
        return open_collection_of(self.index, self._manifest)

    @property
    def log_position(self) -> LogPosition:
        """The last record of a change log that the index has."""
        return self._manifest.log_position

    def write(self, changes: Changes, made: DeltaWriter, position: LogPosition | None) -> None:
        """Write a segment with the changes, and the position."""
        manifest = self._manifest if position is None else self._manifest.at_position(position)
        if made.delta:
            self._manifest = self._commit(manifest, made)
        else:
            save_manifest(self.index, manifest)
            self._manifest = manifest
        if position is not None:  # records of the log are removed once their commit is on disk
            for folder in (self.index, self.index / FOLDER):
                if folder.is_dir():
                    sync_folder(folder)

    def _commit(self, manifest: Manifest, writer: DeltaWriter) -> Manifest:
        delta = writer.delta
        name = new_folder(self.index, manifest)
        folder = self.index / name
        writer.write(folder / COLLECTION)
        vectors = bool(manifest.options.get("vectors", True))
        first, *later = manifest.segments
        opened = open_segment(self.index, first, vectors)
        entries = list(manifest.segments)
        if delta.replaced or delta.gone_visuals:
            segments = [opened, *(open_segment(self.index, entry, False) for entry in later)]
            generation = manifest.generation + 1
            entries = [delete_from(self.index, one, delta.replaced, delta.gone_visuals, generation) for one in segments]
        with Collection.open(folder / COLLECTION) as changed:
            if delta.threads or delta.new_visuals:
                part = FormulaPart(np.array(delta.new_visuals, np.int64), delta.first_expression)
                links = bool(manifest.options["links"])
                write_later_segment(folder, changed, delta.threads, part, links, opened.posts)
                encode_new_segment(self.index, manifest, changed, delta.threads, folder)
                entries.append(SegmentEntry(name))
            return commit(self.index, manifest, changed, entries)


def delete_from(
    index: Path, segment: IndexSegment, threads: list[int], visuals: list[int], generation: int
) -> SegmentEntry:
    """Delete threads and formulas from a segment, as far as it has them; return its new entry."""
    before = segment.deletions or no_deletions(len(segment.formulas.labels))
    after = Deletions(
        delete_threads(segment.posts, before.threads, np.array(threads, np.int64)),
        delete_formulas(segment.formulas, before.formulas, np.array(visuals, np.int64)),
    )
    if after.threads is before.threads and after.formulas is before.formulas:
        return segment.entry
    name = f"{FOLDER}/{segment.entry.name.rpartition('/')[2].replace('.', 'first')}-{generation:06d}.npz"
    save_deletions(index / name, after)
    return SegmentEntry(segment.entry.name, name)


def commit(index: Path, before: Manifest, collection: Collection, entries: Sequence[SegmentEntry]) -> Manifest:
    """Replace the manifest of an index: the point from which readers see the change."""
    sync(collection.path.parent)
    for entry in entries:
        if entry.deletions and entry.deletions not in before.files:
            sync(index / entry.deletions)
    place = os.path.relpath(collection.path.resolve(), index.resolve())
    after = replace(
        before,
        collection=collection.digest,
        options={**before.options, "collection": place},
        counts=collection_counts(collection),
        generation=before.generation + 1,
        segments=tuple(entries),
        files=_files(index, before, entries),
    )
    now = time.monotonic()
    unused = (used_names(index, before) | before.files.keys()) - (used_names(index, after) | after.files.keys())
    retired = (*before.retired, *(Retired(name, now) for name in sorted(unused)))
    after = replace(after, retired=tuple(one for one in retired if one.is_young(now, GRACE)))
    save_manifest(index, after)
    remove_unused(index, replace(after, retired=retired))
    return after


def _files(index: Path, before: Manifest, entries: Iterable[SegmentEntry]) -> dict[str, FileChecksum]:
    """Return all files of segments with checksums. Those of the collection are in its own manifest."""
    files: dict[str, FileChecksum] = {}
    for entry in entries:
        prefix = "" if entry.name == "." else f"{entry.name}/"
        own = {
            name: file
            for name, file in before.files.items()
            if (name.startswith(prefix) if prefix else not name.startswith(f"{FOLDER}/"))
        }
        files |= own or _described(index, index / entry.name)
        if entry.deletions:
            files[entry.deletions] = before.files.get(entry.deletions) or describe_file(index / entry.deletions)
    return files


def _described(index: Path, folder: Path) -> dict[str, FileChecksum]:
    paths = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and COLLECTION not in path.relative_to(folder).parts
    ]
    return {str(path.relative_to(index)): describe_file(path) for path in paths}


def open_collection_of(index: Path, manifest: Manifest) -> Collection:
    """Open the collection of an index."""
    return Collection.open((index / str(manifest.options["collection"])).resolve())


def new_folder(index: Path, manifest: Manifest) -> str:
    """Return the name of the folder of the next generation; what a writer that died has left there is removed."""
    name = f"{FOLDER}/{manifest.generation + 1:06d}"
    shutil.rmtree(index / name, ignore_errors=True)
    return name


def used_names(index: Path, manifest: Manifest) -> set[str]:
    """Return the names in `segments` that a manifest uses: segments, deletions, parts of the collection."""
    names = {entry.name for entry in manifest.segments} | {entry.deletions for entry in manifest.segments}
    home = (index / str(manifest.options["collection"])).resolve()
    root = (index / FOLDER).resolve()
    for place in (home, *part_folders(home)):
        if place.is_relative_to(root):
            names.add(f"{FOLDER}/{place.relative_to(root).parts[0]}")
    return names - {"", "."}


def remove_unused(index: Path, manifest: Manifest) -> None:
    """Remove what no reader needs: what a dead writer has left, and what was replaced longer ago than GRACE."""
    now = time.monotonic()
    kept = used_names(index, manifest) | {one.name for one in manifest.retired if one.is_young(now, GRACE)}
    folder = index / FOLDER
    for path in folder.iterdir() if folder.is_dir() else ():
        if f"{FOLDER}/{path.name}" not in kept and not _is_alive(path.name):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    for one in manifest.retired:
        if one.name not in kept and not one.name.startswith(FOLDER):  # a file of the first segment
            (index / one.name).unlink(missing_ok=True)


def _is_alive(name: str) -> bool:
    """Return whether a folder belongs to a merge whose process is running."""
    if not name.startswith(MERGE):
        return False
    try:
        os.kill(int(name.split("-")[1]), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True


def sync(folder: Path) -> None:
    """Wait until a file, or a folder with all its files, is on disk. Simultaneous writes are grouped."""
    with ThreadPoolExecutor(SYNC_THREADS) as threads:
        list(threads.map(_sync_one, (folder, *folder.rglob("*"))))


def _sync_one(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
