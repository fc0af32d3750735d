"""Open the segments of an index with their deletions: what is deleted, and what it took part in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FAMILIES, FORMULA_FAMILIES
from porism.corpus.content import VisualTrees
from porism.store.embedded.formulas.build import FormulaBlock, formulas_with_label, make_block
from porism.store.embedded.formulas.store import KIND as FORMULAS
from porism.store.embedded.formulas.store import DeletedFormulas, EmbeddedFormulas, LabelCounts
from porism.store.embedded.manifest import Manifest, SegmentEntry, read_manifest
from porism.store.embedded.posts.store import DeletedThreads, EmbeddedPosts
from porism.store.embedded.segments.reading import SegmentedFormulas, SegmentedPosts
from porism.store.embedded.storage.columns import HEADERS, CountedKeys
from porism.store.embedded.terms.embedded import DeletedTerms
from porism.store.records import UNKNOWN

Ints = npt.NDArray[np.int64]


class Deletions(NamedTuple):
    """What is deleted from a segment."""

    threads: DeletedThreads
    formulas: DeletedFormulas


def no_deletions(labels: int) -> Deletions:
    """Return empty deletions for a segment with this number of labels."""
    empty = np.empty(0, np.int64)
    counts = LabelCounts(np.zeros(labels, np.int64), np.zeros(labels, np.int64))
    threads = DeletedThreads(empty, {family: DeletedTerms(empty, empty) for family in FAMILIES})
    terms = {family: DeletedTerms(empty, empty) for family in FORMULA_FAMILIES}
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
        terms[family] = _added(before.terms[family], np.concatenate(codes).astype(np.int64))
    return DeletedThreads(np.union1d(before.rows, rows), terms)


def delete_formulas(formulas: EmbeddedFormulas, before: DeletedFormulas, visuals: Ints) -> DeletedFormulas:
    """Return the deletions of a segment after these visual ids, as far as it has them, are deleted, too."""
    rows = formulas.rows(visuals)
    rows = np.setdiff1d(rows[rows != UNKNOWN], before.rows)
    if not len(rows):
        return before
    # The same block that was made when they were added: exactly what was counted then is taken back.
    block = make_block([VisualTrees(0, 0, "", packed) for packed in formulas.trees(rows.tolist())])
    terms = {family: _added(before.terms[family], _codes(formulas, family, block)) for family in FORMULA_FAMILIES}
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


def _added(before: DeletedTerms, codes: Ints) -> DeletedTerms:
    counted = _counted(CountedKeys(before.codes, before.documents), codes)
    return DeletedTerms(counted.keys, counted.counts)


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
    groups: Mapping[str, Mapping[str, DeletedTerms]] = {"posts": threads.terms, "formulas": formulas.terms}
    for group, terms in groups.items():
        for family, found in terms.items():
            arrays[f"{group}/{family}/codes"], arrays[f"{group}/{family}/documents"] = found
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        np.savez(out, **cast(Any, arrays))


def read_deletions(path: Path) -> Deletions:
    """Read deletions."""
    with HEADERS, np.load(path) as arrays:
        posts, formulas = (
            {
                family: DeletedTerms(arrays[f"{group}/{family}/codes"], arrays[f"{group}/{family}/documents"])
                for family in families
            }
            for group, families in (("posts", FAMILIES), ("formulas", FORMULA_FAMILIES))
        )
        labels = LabelCounts(arrays["layout"], arrays["operators"])
        keys = CountedKeys(arrays["keys"], arrays["key_counts"])
        return Deletions(
            DeletedThreads(arrays["threads"], posts), DeletedFormulas(arrays["formulas"], formulas, labels, keys)
        )


class IndexSegment(NamedTuple):
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


def open_segment(index: Path, entry: SegmentEntry, vectors: bool) -> IndexSegment:
    """Open one segment of an index."""
    directory = index / entry.name
    deletions = read_deletions(index / entry.deletions) if entry.deletions else None
    posts = EmbeddedPosts(directory / "posts", vectors=vectors, deleted=deletions.threads if deletions else None)
    manifest = read_manifest(directory / "formulas", FORMULAS)
    formulas = EmbeddedFormulas(directory / "formulas", manifest, deletions.formulas if deletions else None)
    return IndexSegment(entry, directory, posts, formulas, deletions)


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
