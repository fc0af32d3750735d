"""Change an index: put and delete posts, then commit. Each commit adds one small segment; what is there stays as it is.

The manifest of the index is the commit point. It names the segments, their deletions and the collection, and is
replaced atomically, so a reader sees all of a commit or nothing of it. What a writer that died has left is removed by
the next one. Readers do without this module, and so open sooner."""

from __future__ import annotations

import os
import shutil
import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FAMILIES, FORMULA_FAMILIES
from porism.corpus.content import VisualTrees
from porism.corpus.sources.raw import Dropped, Source
from porism.corpus.store.collection import Collection
from porism.corpus.store.parts import part_folders
from porism.corpus.update.changes import Changes, PendingChanges
from porism.corpus.update.delta import Delta, DeltaWriter
from porism.corpus.update.sources import compare_source
from porism.files import sync_folder
from porism.integrity import FileChecksum, describe_file
from porism.locks import only_writer
from porism.progress import Silent
from porism.store.embedded.build import collection_counts
from porism.store.embedded.encoding import encode_new_segment
from porism.store.embedded.formulas.build import (
    FormulaBlock,
    FormulaPart,
    build_formula_index,
    formulas_with_label,
    make_block,
)
from porism.store.embedded.formulas.store import DeletedFormulas, EmbeddedFormulas, LabelCounts
from porism.store.embedded.manifest import SEARCH, Manifest, Retired, SegmentEntry, read_manifest, save_manifest
from porism.store.embedded.posts.build import SegmentFolders, write_posts
from porism.store.embedded.posts.store import DeletedThreads, EmbeddedPosts
from porism.store.embedded.segments.reading import Deletions, IndexSegment, open_segment
from porism.store.embedded.storage.columns import CountedKeys
from porism.store.embedded.terms.dictionary import Dictionary
from porism.store.embedded.vectors import project_vectors
from porism.store.protocols import LogPosition
from porism.store.records import UNKNOWN

Ints = npt.NDArray[np.int64]
FOLDER = "segments"
GRACE = 600.0  # seconds for which replaced files stay, for readers that are just opening them
COLLECTION = "collection"
SYNC_THREADS = 16
MERGE = "merge-"  # the folder of a merge that is under way: this, and the number of its process


class LocalWriter(PendingChanges):
    """Compares and makes changes of a collection."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source

    @abstractmethod
    def collection(self) -> AbstractContextManager[Collection]:
        """Return a context in which the collection that is changed is open."""

    @abstractmethod
    def write(self, changes: Changes, made: DeltaWriter, position: LogPosition | None) -> None:
        """Write changes, if they changed anything, and the position of a change log, if given."""

    def compare(self, source: Source, delete_many: bool = False) -> list[Dropped]:
        """Prepare the changes that bring the store to the state of a source; return what of the source is left out."""
        with self.collection() as collection:
            self.changes, self.source, dropped = compare_source(collection, source, delete_many)
        return dropped

    def commit(self, position: LogPosition | None = None) -> Delta:
        """Make the changes visible to readers that open the store from now on; return what changed.

        `position` is the last record of a change log that the changes come from. It is stored with them, so that no
        record is applied twice."""
        changes, self.changes = self.changes, Changes()
        with self.collection() as collection:
            made = DeltaWriter(collection, changes, self.source)
            delta = made.apply()  # drops what cannot be made
            if delta or position is not None:
                self.write(changes, made, position)
        return delta


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


def no_deletions(labels: int) -> Deletions:
    """Return empty deletions for a segment with this number of labels."""
    empty = np.empty(0, np.int64)
    counts = LabelCounts(np.zeros(labels, np.int64), np.zeros(labels, np.int64))
    threads = DeletedThreads(empty, {family: CountedKeys(empty, empty) for family in FAMILIES})
    terms = {family: CountedKeys(empty, empty) for family in FORMULA_FAMILIES}
    keys = CountedKeys(np.empty(0, np.uint32), empty)
    return Deletions(threads, DeletedFormulas(empty, terms, counts, keys))


def delete_threads(posts: EmbeddedPosts, before: DeletedThreads, questions: Ints) -> DeletedThreads:
    """Return the deletions of a segment after the threads of these questions are deleted from it, too."""
    rows = np.setdiff1d(np.flatnonzero(np.isin(posts.question_ids, questions)), before.rows)
    if not len(rows):
        return before
    batch = posts.fetch(rows, FAMILIES)
    terms = {}
    for family, found in batch.terms.items():
        codes = [
            np.unique(np.concatenate([found.keys[found.starts[at] : found.ends[at]] for at in range(start, end)]))
            for start, end in zip(batch.starts.tolist(), batch.ends.tolist(), strict=True)
        ]
        terms[family] = _counted(before.terms[family], np.concatenate(codes).astype(np.int64))
    return DeletedThreads(np.union1d(before.rows, rows), terms)


def delete_formulas(formulas: EmbeddedFormulas, before: DeletedFormulas, visuals: Ints) -> DeletedFormulas:
    """Return the deletions of a segment after these visual ids, as far as it has them, are deleted, too."""
    rows = formulas.rows(visuals)
    rows = np.setdiff1d(rows[rows != UNKNOWN], before.rows)
    if not len(rows):
        return before
    # The same block that was made when they were added: exactly what was counted then is taken back.
    block = make_block([VisualTrees(0, 0, "", packed) for packed in formulas.trees(rows)])
    terms = {family: _counted(before.terms[family], _codes(formulas, family, block)) for family in FORMULA_FAMILIES}
    labels = np.array([formulas.labels[label] for label in block.labels], np.int32)
    layout, operators = before.labels.layout.copy(), before.labels.operators.copy()
    for counts, tree in ((layout, "layout"), (operators, "operator")):
        for label, number in formulas_with_label(labels, block, tree).items():
            counts[label] += number
    keys = _counted(before.keys, np.repeat(block.keys, block.key_counts))
    return DeletedFormulas(np.union1d(before.rows, rows), terms, LabelCounts(layout, operators), keys)


def _codes(formulas: EmbeddedFormulas, family: str, block: FormulaBlock) -> Ints:
    """Return the codes of the terms of a block, each once for a formula."""
    local = block.terms[family]
    formula = np.repeat(np.arange(len(local.rows.sizes)), local.rows.sizes)
    pairs = np.unique(formula * max(1, len(local.hashes)) + local.rows.codes)
    codes: Ints = formulas.terms.dictionary(family).find_hashes(local.hashes)[pairs % max(1, len(local.hashes))]
    return codes


def _counted(before: CountedKeys, keys: npt.NDArray[Any]) -> CountedKeys:
    """Return counts after each of these keys was counted once more."""
    distinct, counts = np.unique(keys, return_counts=True)
    merged, place = np.unique(np.concatenate((before.keys, distinct)), return_inverse=True)
    totals = np.zeros(len(merged), np.int64)
    np.add.at(totals, place, np.concatenate((before.counts, counts)))
    return CountedKeys(merged.astype(before.keys.dtype), totals)


def save_deletions(path: Path, deletions: Deletions) -> None:
    """Write deletions to a new file."""
    threads, formulas = deletions
    arrays: dict[str, npt.NDArray[Any]] = {
        "threads": threads.rows,
        "formulas": formulas.rows,
        "layout": formulas.labels.layout,
        "operators": formulas.labels.operators,
        "keys": formulas.keys.keys,
        "key_counts": formulas.keys.counts,
    }
    groups: Mapping[str, Mapping[str, CountedKeys]] = {"posts": threads.terms, "formulas": formulas.terms}
    for group, terms in groups.items():
        for family, found in terms.items():
            arrays[f"{group}/{family}/codes"], arrays[f"{group}/{family}/documents"] = found
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        np.savez(out, **cast(Any, arrays))


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
        folder = index / entry.name
        files |= own or {
            str(path.relative_to(index)): describe_file(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file() and COLLECTION not in path.relative_to(folder).parts
        }
        if entry.deletions:
            files[entry.deletions] = before.files.get(entry.deletions) or describe_file(index / entry.deletions)
    return files


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
        list(threads.map(sync_folder, (folder, *folder.rglob("*"))))
