"""Open the segments that the manifest of an index names."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from porism.store.embedded.formulas.layout import KIND as FORMULAS
from porism.store.embedded.formulas.store import EmbeddedFormulas
from porism.store.embedded.manifest import Manifest, SegmentEntry, read_manifest
from porism.store.embedded.posts.store import EmbeddedPosts
from porism.store.embedded.segments.deletions import Deletions, read_deletions
from porism.store.embedded.segments.formulas import SegmentedFormulas
from porism.store.embedded.segments.posts import SegmentedPosts


class Segment(NamedTuple):
    """An opened segment."""

    entry: SegmentEntry
    directory: Path
    posts: EmbeddedPosts
    formulas: EmbeddedFormulas
    deletions: Deletions | None


class OpenedSegments(NamedTuple):
    """The segments of an index as one: documents and formulas of all of them, and the folder of what is learned."""

    documents: EmbeddedPosts | SegmentedPosts
    formulas: EmbeddedFormulas | SegmentedFormulas
    learned: Path


def open_segment(index: Path, entry: SegmentEntry, vectors: bool) -> Segment:
    """Open one segment of an index."""
    directory = index / entry.name
    deletions = read_deletions(index / entry.deletions) if entry.deletions else None
    posts = EmbeddedPosts(directory / "posts", vectors=vectors, deleted=deletions.threads if deletions else None)
    manifest = read_manifest(directory / "formulas", FORMULAS)
    formulas = EmbeddedFormulas(directory / "formulas", manifest, deletions.formulas if deletions else None)
    return Segment(entry, directory, posts, formulas, deletions)


def open_segments(index: Path, manifest: Manifest) -> OpenedSegments:
    """Open all segments of an index. A single one without deletions is read directly."""
    vectors = bool(manifest.options.get("vectors", True))
    segments = [open_segment(index, entry, vectors) for entry in manifest.segments]
    first = segments[0]
    learned = first.directory
    if len(segments) == 1 and first.deletions is None:
        return OpenedSegments(first.posts, first.formulas, learned)
    posts = SegmentedPosts([one.posts for one in segments])
    formulas = SegmentedFormulas([one.formulas for one in segments])
    return OpenedSegments(posts, formulas, learned)
