"""Posts and formulas of several segments, read as those of one index."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FAMILIES, Unit
from porism.caching import cached_method
from porism.compiled import compiled
from porism.store.embedded.posts.store import EmbeddedPosts
from porism.store.embedded.segments.term_index import RowMap, SegmentedTermIndex
from porism.store.records import UNKNOWN, Positions, TermRows, Threads

Ints = npt.NDArray[np.int64]
NO_MAPPING = np.empty(0, np.uint32)


class _Part(NamedTuple):
    """Threads of one segment within a batch: the segment, their positions in the batch, and the threads."""

    segment: int
    positions: Ints
    threads: Threads


class SegmentedPosts:
    """The posts of several segments. `terms` is their TermIndex; the object itself is their DocumentStore. Safe for
    concurrent use."""

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
        """Return threads in one batch. Their entries are copied, with the codes of the index, where they are not all in
        the first segment."""
        parts = [
            _Part(number, positions, self._segments[number].fetch(rows, families, vectors, lookup))
            for number, positions, rows in self._threads.split(threads)
        ]
        if not parts:
            return self._segments[0].fetch(threads, families, vectors, lookup)
        if len(parts) == 1 and not parts[0].segment:
            return parts[0].threads._replace(numbers=threads)
        sizes = np.empty(len(threads), np.int64)
        for part in parts:
            sizes[part.positions] = part.threads.ends - part.threads.starts
        ends = np.cumsum(sizes)
        starts = ends - sizes
        places = [_spread(starts[part.positions], sizes[part.positions]) for part in parts]
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
            own_codes = NO_MAPPING if mapping is None else mapping
            _copy_entries(*own[:5], own_codes, (ends - sizes)[at], *out)
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


def _spread(starts: Ints, sizes: Ints) -> Ints:
    """Return all positions of spans: from each start on, as many as its size."""
    places: Ints = np.arange(int(sizes.sum())) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return places


def _placed(places: Sequence[Ints], values: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return one array with the values of each part at its places."""
    total = sum(len(at) for at in places)
    found = np.empty((total, *values[0].shape[1:]), values[0].dtype)
    for at, own in zip(places, values, strict=True):
        found[at] = own
    return found


@compiled
def _copy_entries(
    starts: Any,
    ends: Any,
    codes: Any,
    fields: Any,
    counts: Any,
    mapping: Any,
    targets: Any,
    out: Any,
    out_fields: Any,
    out_counts: Any,
) -> None:
    """Copy the entries of rows to their targets, with the codes of a mapping if it has any."""
    for row in range(len(starts)):
        at = targets[row]
        for entry in range(starts[row], ends[row]):
            out[at] = mapping[codes[entry]] if len(mapping) else codes[entry]
            out_fields[at] = fields[entry]
            out_counts[at] = counts[entry]
            at += 1
