"""Open the segments of an index with their deletions, and read posts and formulas of several as those of one. A visual
id that is not deleted is in exactly one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Collection as Names
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FAMILIES, FORMULA_FAMILIES, Unit
from porism.caching import cached_method
from porism.compiled import compiled
from porism.store.embedded.formulas.store import KIND as FORMULAS
from porism.store.embedded.formulas.store import (
    DeletedFormulas,
    EmbeddedFormulas,
    LabelCounts,
    inverse_frequency,
    label_weights,
)
from porism.store.embedded.manifest import Manifest, SegmentEntry, read_manifest
from porism.store.embedded.posts.store import DeletedThreads, EmbeddedPosts
from porism.store.embedded.segments.term_index import RowMap, SegmentedTermIndex
from porism.store.embedded.storage.columns import HEADERS, CountedKeys
from porism.store.embedded.terms.dictionary import find_sorted
from porism.store.records import (
    UNKNOWN,
    Formulas,
    Ints,
    PathRows,
    Positions,
    SymbolSequences,
    TermRows,
    Threads,
    spread,
)

Labels = npt.NDArray[np.int32]


class _Part(NamedTuple):
    """Threads of one segment within a batch: the segment, their positions in the batch, and the threads."""

    segment: int
    positions: Ints
    threads: Threads


class SegmentedPosts:
    """The posts of several segments; `terms` is their term index. Safe for concurrent use."""

    def __init__(self, segments: Sequence[EmbeddedPosts]) -> None:
        self._segments = segments
        self._threads = RowMap([one.question_ids for one in segments], [one.deleted for one in segments])
        self.terms = SegmentedTermIndex([one.terms for one in segments], FAMILIES, cached_method(2, self._row_map))
        self.vectors = segments[0].vectors

    def _row_map(self, unit: str) -> RowMap:
        return self._answers if unit == "answer" else self._threads

    @cached_property
    def _answers(self) -> RowMap:
        """The rows of answers, in the order of threads."""
        threads = [one.threads_of_answers for one in self._segments]
        keys = [self._threads.number(number, own) for number, own in enumerate(threads)]
        return RowMap(keys, [np.flatnonzero(own < 0) for own in keys])

    def size(self, unit: Unit) -> int:
        """Return how many threads, questions or answers there are."""
        if unit != "answer":
            return len(self._threads)
        return sum(segment.size("answer") for segment in self._segments)

    def fetch(self, threads: Ints, families: Names[str], vectors: Names[str] = (), lookup: Any = None) -> Threads:
        """Return threads in one batch; entries are copied unless all are in the first segment."""
        parts = [
            _Part(number, positions, self._segments[number].fetch(rows, families, vectors, lookup))
            for number, positions, rows in self._threads.split(threads)
        ]
        if not parts:
            return self._segments[0].fetch(threads, families, vectors, lookup)
        if len(parts) == 1 and not parts[0].segment:
            return parts[0].threads._replace(numbers=threads)
        sizes = _placed([part.positions for part in parts], [part.threads.ends - part.threads.starts for part in parts])
        ends = np.cumsum(sizes)
        starts = ends - sizes
        places = [spread(starts[part.positions], sizes[part.positions]) for part in parts]
        return Threads(
            threads,
            starts,
            ends,
            _placed(places, [part.threads.post_ids for part in parts]),
            _placed(places, [part.threads.years for part in parts]),
            _placed(places, [part.threads.accepted for part in parts]),
            {family: self._terms(family, parts, places) for family in families},
            {family: self._vectors(family, parts) for family in vectors},
            lookup,
        )

    def _vectors(self, family: str, parts: Sequence[_Part]) -> npt.NDArray[Any]:
        """Return the vectors of threads. A segment that was committed while another basis was learned may have vectors
        of another length for a moment, until it is merged: they count as zero."""
        wanted = self.vectors[family].dimensions
        found = [part.threads.vectors[family] for part in parts]
        known = [own if own.shape[1] == wanted else np.zeros((len(own), wanted), own.dtype) for own in found]
        return _placed([part.positions for part in parts], known)

    def _terms(self, family: str, parts: Sequence[_Part], places: Sequence[Ints]) -> TermRows:
        rows = [part.threads.terms[family] for part in parts]
        sizes = _placed(places, [own.ends - own.starts for own in rows])
        ends = np.cumsum(sizes)
        size = int(ends[-1])
        out = np.empty(size, np.uint32), np.empty(size, np.uint8), np.empty(size, np.uint8)
        for part, own, at in zip(parts, rows, places, strict=True):
            mapping = self.terms.codes[family].mapping(part.segment)
            _copy_entries(*own[:5], mapping, (ends - sizes)[at], *out)
        return TermRows(ends - sizes, ends, *out, _placed(places, [own.lengths for own in rows]))

    def post_ids(self, unit: Unit, rows: Ints) -> Ints:
        """Return the ids of questions or of answers by their rows."""
        ids = np.empty(len(rows), np.int64)
        for segment, positions, own in self._row_map(unit).split(rows):
            ids[positions] = self._segments[segment].post_ids(unit, own)
        return ids

    def locate(self, ids: Ints) -> Positions:
        """Return where posts are."""
        threads, positions = np.full(len(ids), UNKNOWN, np.int64), np.zeros(len(ids), np.int64)
        for number, segment in enumerate(self._segments):
            found = segment.locate(ids)
            known = np.flatnonzero(found.threads != UNKNOWN)
            rows = self._threads.number(number, found.threads[known])
            live = rows >= 0
            threads[known[live]] = rows[live]
            positions[known[live]] = found.positions[known[live]]
        return Positions(threads, positions)


def _placed(places: Sequence[Ints], values: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return one array with the values of each part at its places."""
    total = sum(len(at) for at in places)
    found = np.empty((total, *values[0].shape[1:]), values[0].dtype)
    for at, own in zip(places, values, strict=True):
        found[at] = own
    return found


@compiled
def _copy_entries(
    starts: Any, ends: Any, codes: Any, fields: Any, counts: Any, mapping: Any, targets: Any, out: Any,
    out_fields: Any, out_counts: Any,
) -> None:  # fmt: skip
    """Copy the entries of rows to their targets, with the codes of a mapping if it has any."""
    for row in range(len(starts)):
        at = targets[row]
        for entry in range(starts[row], ends[row]):
            out[at] = mapping[codes[entry]] if len(mapping) else codes[entry]
            out_fields[at] = fields[entry]
            out_counts[at] = counts[entry]
            at += 1


class _FormulaPart(NamedTuple):
    """Formulas of one segment in a batch: positions in the batch, formulas, the index's labels by local label."""

    positions: Ints
    formulas: Formulas
    labels: Labels


class SegmentedFormulas:
    """The formulas of several segments, in the order of visual ids."""

    def __init__(self, segments: Sequence[EmbeddedFormulas]) -> None:
        self._segments = segments
        self._rows = RowMap([one.all_visual_ids for one in segments], [one.deleted for one in segments])
        row_map = self._rows  # not `self`, which would make a cycle that keeps files open
        self.terms = SegmentedTermIndex([one.terms for one in segments], FORMULA_FAMILIES, lambda _: row_map)
        self.labels: dict[str, int] = {}
        self._label_ids = [
            np.array([self.labels.setdefault(label, len(self.labels)) for label in one.labels], np.int32)
            for one in segments
        ]
        self.formulas = len(self._rows)
        self.unseen_label_weight = float(label_weights([0], self.formulas)[0])
        self.layout_weights = self._weights(lambda one: one.label_counts.layout)
        self.operator_weights = self._weights(lambda one: one.label_counts.operators)
        self._path_groups = sum(one.path_group_count for one in segments)
        self._visual_ids = np.empty(len(self._rows), np.int64)
        for number, one in enumerate(segments):
            rows = self._rows.number(number, np.arange(len(one.all_visual_ids)))
            self._visual_ids[rows[rows >= 0]] = one.all_visual_ids[rows >= 0]

    def _weights(self, counts: Callable[[EmbeddedFormulas], Ints]) -> npt.NDArray[np.float64]:
        total = np.zeros(len(self.labels), np.int64)
        for ids, one in zip(self._label_ids, self._segments, strict=True):
            total[ids] += counts(one)
        return label_weights(total, self.formulas)

    def inverse_path_frequency(self, keys: npt.NDArray[np.uint32]) -> npt.NDArray[np.float64]:
        """Return ln(all path groups / path groups with this key) for each key. An unseen key counts as seen once."""
        groups = np.zeros(len(keys), np.int64)
        for one in self._segments:
            groups += one.path_groups(keys)
        return inverse_frequency(groups, self._path_groups)

    def fetch(self, rows: Ints, records: Any = None) -> Formulas:
        """Return formulas in one batch; symbols and paths are copied unless all are in the first segment."""
        parts = []
        for number, positions, own in self._rows.split(rows):
            if not number and len(own) == len(rows):
                return self._segments[0].fetch(own, records)._replace(numbers=rows)
            parts.append(_FormulaPart(positions, self._segments[number].fetch(own), self._label_ids[number]))
        if not parts:
            return self._segments[0].fetch(rows, records)
        layout = _gather(parts, lambda one: one.layout, ("labels", "edges"))
        operators = _gather(parts, lambda one: one.operators, ("labels",))
        paths = _gather(parts, lambda one: one.paths, ("above", "keys", "labels"))
        leaves = _placed([part.positions for part in parts], [part.formulas.paths.leaves for part in parts])
        return Formulas(
            rows,
            self.visual_ids(rows),
            SymbolSequences(**layout),
            SymbolSequences(**operators, edges=np.empty(0, np.uint8)),
            PathRows(**paths, leaves=leaves),
            records,
        )

    def trees(self, rows: Ints) -> list[bytes]:
        """Return the packed trees of formulas."""
        return self._each(rows, lambda segment, own: segment.trees(own))

    def latex(self, rows: Ints) -> list[str]:
        """Return the LaTeX of formulas."""
        return self._each(rows, lambda segment, own: segment.latex(own))

    def _each(self, rows: Ints, read: Callable[[EmbeddedFormulas, Ints], list[Any]]) -> list[Any]:
        found: list[Any] = [None] * len(rows)
        for number, positions, own in self._rows.split(rows):
            for at, value in zip(positions.tolist(), read(self._segments[number], own), strict=True):
                found[at] = value
        return found

    def visual_ids(self, rows: Ints) -> Ints:
        """Return the visual ids of formulas."""
        return self._visual_ids[rows]

    def rows(self, visual_ids: Ints) -> Ints:
        """Return the rows of visual ids, UNKNOWN for those that the index lacks."""
        return find_sorted(self._visual_ids, visual_ids)

    def part_codes(self, expressions: Sequence[int]) -> list[list[int]]:
        """Return the codes of sub-expressions. An expression is in the last segment that starts at or before its id."""
        found = []
        for expression in expressions:
            number = max(at for at, one in enumerate(self._segments) if one.first_expression <= max(expression, 1))
            own = np.array(self._segments[number].part_codes([expression])[0], np.int64)
            found.append(self.terms.codes["parts"].to_index(number, own).tolist())
        return found


def _gather(
    parts: Sequence[_FormulaPart], read: Callable[[Formulas], Any], names: Sequence[str]
) -> dict[str, npt.NDArray[Any]]:
    """Copy the spans of all parts into new columns, with their starts and ends; labels become those of the index."""
    found, places = [read(part.formulas) for part in parts], [part.positions for part in parts]
    sizes = _placed(places, [own.ends - own.starts for own in found])
    ends = np.cumsum(sizes)
    sources = [spread(own.starts, own.ends - own.starts) for own in found]
    targets = [spread((ends - sizes)[at], sizes[at]) for at in places]
    columns = {name: [getattr(own, name)[at] for own, at in zip(found, sources, strict=True)] for name in names}
    columns["labels"] = [part.labels[own] for part, own in zip(parts, columns["labels"], strict=True)]
    return {"starts": ends - sizes, "ends": ends, **{name: _placed(targets, own) for name, own in columns.items()}}


class Deletions(NamedTuple):
    """What is deleted from a segment."""

    threads: DeletedThreads
    formulas: DeletedFormulas


def read_deletions(path: Path) -> Deletions:
    """Read deletions."""
    with HEADERS, np.load(path) as arrays:
        posts, formulas = (
            {
                family: CountedKeys(arrays[f"{group}/{family}/codes"], arrays[f"{group}/{family}/documents"])
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
    posts: EmbeddedPosts
    formulas: EmbeddedFormulas
    deletions: Deletions | None


class OpenedSegments(NamedTuple):
    """The segments of an index as one. What is learned is in the folder of the first segment."""

    documents: EmbeddedPosts | SegmentedPosts
    formulas: EmbeddedFormulas | SegmentedFormulas


def open_segment(index: Path, entry: SegmentEntry, vectors: bool) -> IndexSegment:
    """Open one segment of an index."""
    directory = index / entry.name
    deletions = read_deletions(index / entry.deletions) if entry.deletions else None
    posts = EmbeddedPosts(directory / "posts", vectors=vectors, deleted=deletions.threads if deletions else None)
    manifest = read_manifest(directory / "formulas", FORMULAS)
    formulas = EmbeddedFormulas(directory / "formulas", manifest, deletions.formulas if deletions else None)
    return IndexSegment(entry, posts, formulas, deletions)


def open_segments(index: Path, manifest: Manifest) -> OpenedSegments:
    """Open all segments of an index. A single one without deletions is read directly."""
    vectors = bool(manifest.options.get("vectors", True))
    segments = [open_segment(index, entry, vectors) for entry in manifest.segments]
    if len(segments) == 1 and segments[0].deletions is None:
        return OpenedSegments(segments[0].posts, segments[0].formulas)
    formulas = SegmentedFormulas([one.formulas for one in segments])
    return OpenedSegments(SegmentedPosts([one.posts for one in segments]), formulas)
