"""Open the segments that the manifest of an index names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from porism.corpus.content import Content
from porism.store.embedded.formulas.layout import KIND as FORMULAS
from porism.store.embedded.formulas.store import EmbeddedFormulas
from porism.store.embedded.manifest import Manifest, SegmentEntry, read_manifest
from porism.store.embedded.posts.store import EmbeddedPosts
from porism.store.embedded.segments.deletions import Deletions, read_deletions
from porism.store.embedded.segments.formulas import SegmentedFormulas
from porism.store.embedded.segments.posts import SegmentedPosts
from porism.store.embedded.vectors import Vectors
from porism.store.protocols import DocumentStore, FormulaStore, TermIndex


class Segment(NamedTuple):
    """An opened segment."""

    entry: SegmentEntry
    directory: Path
    posts: EmbeddedPosts
    formulas: EmbeddedFormulas
    deletions: Deletions | None


class OpenedSegments(NamedTuple):
    """The segments of an index as one: terms, documents and formulas of all of them; vectors by family; and the folder of what is learned."""

    terms: TermIndex
    documents: DocumentStore
    formulas: FormulaStore
    vectors: Mapping[str, Vectors]
    learned: Path


def open_segment(index: Path, entry: SegmentEntry, content: Content, vectors: bool) -> Segment:
    """Open one segment of an index."""
    directory = index / entry.name
    deletions = read_deletions(index / entry.deletions) if entry.deletions else None
    posts = EmbeddedPosts(
        directory / "posts", content, vectors=vectors, deleted=deletions.threads if deletions else None
    )
    manifest = read_manifest(directory / "formulas", FORMULAS)
    formulas = EmbeddedFormulas(directory / "formulas", manifest, deletions.formulas if deletions else None)
    return Segment(entry, directory, posts, formulas, deletions)


def open_segments(index: Path, manifest: Manifest, content: Content) -> OpenedSegments:
    """Open all segments of an index. A single one without deletions is read directly."""
    vectors = bool(manifest.options.get("vectors", True))
    segments = [open_segment(index, entry, content, vectors) for entry in manifest.segments]
    first = segments[0]
    learned = first.directory
    if len(segments) == 1 and first.deletions is None:
        return OpenedSegments(first.posts.terms, first.posts, first.formulas, first.posts.vectors, learned)
    posts = SegmentedPosts([one.posts for one in segments], content)
    formulas = SegmentedFormulas([one.formulas for one in segments])
    return OpenedSegments(posts.terms, posts, formulas, posts.vectors, learned)
