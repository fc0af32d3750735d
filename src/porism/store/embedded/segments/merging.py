"""Merge segments: the last segments of an index become one, or all of them a single first segment.

Merging reads without the lock of the writer and takes it only to commit, so that updates go on meanwhile. What was
deleted in the meantime is deleted from the result. A merge of all segments writes the collection into one file and
learns vectors, concepts and vocabulary anew: it equals a build from scratch."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.terms import ENCODER
from porism.corpus.store.collection import Collection
from porism.corpus.update.delta import merge_parts, write_generation
from porism.locks import only_writer
from porism.progress import Progress, Silent
from porism.store.embedded.build import write_segment
from porism.store.embedded.encoding import encode_new_segment
from porism.store.embedded.formulas.build import FormulaPart
from porism.store.embedded.manifest import SEARCH, Manifest, SegmentEntry, read_manifest
from porism.store.embedded.segments.reading import IndexSegment, open_segment
from porism.store.embedded.segments.writer import (
    COLLECTION,
    FOLDER,
    MERGE,
    commit,
    delete_from,
    new_folder,
    open_collection_of,
    write_later_segment,
)
from porism.store.protocols import IndexOptions

Ints = npt.NDArray[np.int64]
MOST_SEGMENTS = 8  # of an index; more of them are merged
MOST_PARTS = 12  # of a collection; deletions alone make parts, too
GROWTH = 2  # a segment is merged with the later ones when they have more than 1 / GROWTH of its threads


def merge_start(sizes: Sequence[int], parts: int) -> int | None:
    """Return the first segment to merge with all later ones, given the number of threads of each; None if no merge is
    due.

    The first segment, which is large, is merged only by request. Each thread is merged about log2(n) times."""
    if len(sizes) < MOST_SEGMENTS and parts < MOST_PARTS:
        return None
    if len(sizes) < 3:
        return 1
    start, later = len(sizes) - 2, sizes[-1]
    while start > 1 and GROWTH * (later + sizes[start]) >= sizes[start - 1]:
        later += sizes[start]
        start -= 1
    return start


class _Snapshot(NamedTuple):
    """What a merge starts from: the manifest, the merged segments, and the merged parts of the collection."""

    manifest: Manifest
    start: int
    segments: list[IndexSegment]
    first_part: int
    parts: int


def merge(index: str | Path, *, everything: bool = False, progress: Progress | None = None) -> bool:
    """Merge segments of an index where that is due, or all of them; return whether anything was merged."""
    place = Path(index)
    if not everything:
        return _merge(place, None, Silent())
    merged = _merge(place, 0, progress or Silent())
    if merged and len(read_manifest(place, SEARCH).segments) > 1:
        # Segments that were committed meanwhile have vectors on the basis that was learned before: project them anew.
        _merge(place, 1, Silent())
    return merged


def _merge(place: Path, chosen: int | None, progress: Progress) -> bool:
    """Merge a segment with all later ones: the `chosen` one, or the one from which a merge is due."""
    manifest = read_manifest(place, SEARCH)
    with open_collection_of(place, manifest) as collection:
        vectors = bool(manifest.options.get("vectors", True))
        segments = [open_segment(place, entry, vectors) for entry in manifest.segments]
        folders = collection.part_folders
        if chosen is None:
            start = merge_start([one.posts.size("thread") for one in segments], len(folders))
        else:
            start = chosen if len(folders) > 1 else None
        if start is None:
            return False
        first_part = start
        if start > 1:  # that of the segment: deletions make parts, too, that no segment belongs to
            wanted = (place / segments[start].entry.name / COLLECTION).resolve()
            first_part = [folder.resolve() for folder in folders].index(wanted)
        snapshot = _Snapshot(manifest, start, segments, first_part, len(folders))
        (place / FOLDER).mkdir(exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=place / FOLDER, prefix=f"{MERGE}{os.getpid()}-"))
        try:
            _write(place, work, snapshot, collection, progress)
            is_committed = _commit(place, work, snapshot)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return is_committed or _merge(place, chosen, progress)


def _write(index: Path, work: Path, snapshot: _Snapshot, collection: Collection, progress: Progress) -> None:
    """Write the merged part of the collection and its segment."""
    whole = not snapshot.first_part
    merged = work / COLLECTION
    questions = merge_parts(collection, snapshot.first_part, merged)
    options = snapshot.manifest.options
    if whole:
        with Collection.open(merged) as opened:
            write_segment(opened, work, IndexOptions(bool(options["links"]), bool(options["vectors"])), progress)
            encode_new_segment(index, snapshot.manifest, opened, list(opened.question_ids()), work)
        return
    own = snapshot.segments[snapshot.start :]
    if not own:
        return
    visuals = [np.delete(one.formulas.all_visual_ids, one.formulas.deleted) for one in own]
    part = FormulaPart(np.sort(np.concatenate(visuals)), own[0].formulas.first_expression)
    write_later_segment(work, collection, questions, part, bool(options["links"]), snapshot.segments[0].posts)
    encode_new_segment(index, snapshot.manifest, collection, questions, work)


def _commit(index: Path, work: Path, snapshot: _Snapshot) -> bool:
    """Put the merged segment in place of the old ones. Return False if another merge, or vectors, were faster."""
    with only_writer(index, wait=math.inf):
        manifest = read_manifest(index, SEARCH)
        entries, count = manifest.segments, len(snapshot.segments)
        if [one.name for one in entries[:count]] != [one.entry.name for one in snapshot.segments]:
            return False
        if manifest.options.get(ENCODER) != snapshot.manifest.options.get(ENCODER):  # the segment would lack them
            return False
        name = new_folder(index, manifest)
        work.replace(index / name)
        with open_collection_of(index, manifest) as present:
            merged = _merged_entry(index, name, snapshot, entries, manifest.generation + 1)
            folder = index / name / COLLECTION
            folders = [*present.part_folders[: snapshot.first_part], folder, *present.part_folders[snapshot.parts :]]
            own = "" if snapshot.first_part else Collection.open(folder).digest
            write_generation(present, folders, folder, own)
        with Collection.open(folder) as collection:
            commit(index, manifest, collection, (*entries[: snapshot.start], *merged, *entries[count:]))
    return True


def _merged_entry(
    index: Path, name: str, snapshot: _Snapshot, entries: Sequence[SegmentEntry], generation: int
) -> list[SegmentEntry]:
    """Return the entry of the merged segment, if there is any, without what was deleted since the merge began."""
    if not snapshot.segments[snapshot.start :]:
        return []
    threads: list[int] = []
    visuals: list[int] = []
    for old, entry in list(zip(snapshot.segments, entries, strict=False))[snapshot.start :]:
        if entry.deletions != old.entry.deletions:
            now = open_segment(index, entry, False)
            threads += old.posts.question_ids[np.setdiff1d(now.posts.deleted, old.posts.deleted)].tolist()
            gone = np.setdiff1d(now.formulas.deleted, old.formulas.deleted)
            visuals += old.formulas.all_visual_ids[gone].tolist()
    segment = open_segment(index, SegmentEntry(name), False)
    return [delete_from(index, segment, threads, visuals, generation)]
