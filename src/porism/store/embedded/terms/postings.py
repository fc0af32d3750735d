"""Posting lists: rows of documents are inverted with bounded memory, and lists are encoded as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.store.embedded.storage.columns import ArrayWriter, map_file, read_array
from porism.store.embedded.storage.rows import FIELD_BITS, FIELD_SHIFT, MOST_COUNT, Rows, get, put
from porism.store.weighting import saturate, saturation

DISTANCE_SHIFT = FIELD_BITS + 1  # of the first integer, below the distance: field and flag
FIELD_MASK = (1 << FIELD_BITS) - 1
LONGEST = 7  # bytes of one entry at most: 31 bits of distance, 5 of field and flag, and a count of 4 bits


@compiled
def encode_lists(starts: Any, rows: Any, cells: Any, out: Any, ends: Any) -> None:
    """Write posting lists one after another. List number i has the entries from starts[i] to starts[i + 1]; ends[i] is
    where its bytes end."""
    at = 0
    for number in range(len(starts) - 1):
        before: Any = np.int64(0)
        for entry in range(starts[number], starts[number + 1]):
            count = np.int64(cells[entry] & MOST_COUNT)
            field = np.int64(cells[entry] >> FIELD_SHIFT)
            row = np.int64(rows[entry])
            at = put(((row - before) << DISTANCE_SHIFT) | (field << 1) | (1 if count > 1 else 0), out, at)
            if count > 1:
                at = put(count - 2, out, at)
            before = row
        ends[number] = at


@compiled
def decode(data: Any, at: int, end: int, rows: Any, cells: Any) -> int:
    """Read the entries of one posting list into arrays; return how many there are."""
    size = 0
    row = np.int64(0)
    while at < end:
        value, at = get(data, at)
        row += value >> DISTANCE_SHIFT
        count = np.int64(1)
        if value & 1:
            count, at = get(data, at)
            count += 2
        rows[size] = row
        cells[size] = np.uint8((((value >> 1) & FIELD_MASK) << FIELD_SHIFT) | count)
        size += 1
    return size


SORTED = 16_000_000  # entries that are sorted together, about 180 MB
Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[np.uint32]


class PostingLists:
    """The posting lists of a family: bytes, and where the list of each term id ends."""

    def __init__(self, path: Path) -> None:
        self.data = map_file(Path(f"{path}.lists"), np.uint8)
        self.ends: npt.NDArray[Any] = read_array(Path(f"{path}.list_end.npy"))

    def __len__(self) -> int:
        return len(self.ends)

    def span(self, number: int) -> tuple[int, int]:
        """Return where the bytes of a list start and end."""
        return (int(self.ends[number - 1]) if number else 0), int(self.ends[number])

    def spans(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Return where the bytes of several lists start and end."""
        starts = np.where(numbers > 0, self.ends[numbers - 1], 0)
        return starts.astype(np.int64), self.ends[numbers].astype(np.int64)


@compiled
def _count(codes: Any, counts: Any) -> None:
    for at in range(len(codes)):
        counts[codes[at]] += 1


@compiled
def _place(
    starts: Any, codes: Any, cells: Any, low: int, high: int, places: Any, out_rows: Any, out_cells: Any
) -> None:
    """Move the entries whose id is in the range to their places."""
    for row in range(len(starts) - 1):
        for at in range(starts[row], starts[row + 1]):
            code = np.int64(codes[at])
            if low <= code < high:
                place = places[code - low]
                out_rows[place] = row
                out_cells[place] = cells[at]
                places[code - low] = place + 1


@compiled
def _range_end(counts: Any, low: int, most: int) -> int:
    """Return where the range of ids that starts at `low` ends: it has at most `most` entries, or a single id."""
    high, entries = low + 1, np.int64(counts[low])
    while high < len(counts) and entries + counts[high] <= most:
        entries += np.int64(counts[high])
        high += 1
    return high


def _ranges(counts: Counts) -> Iterator[tuple[int, int]]:
    """Cut the ids into ranges of few enough entries; a longer single list is a range of its own."""
    low = 0
    while low < len(counts):
        high = _range_end(counts, low, SORTED)
        yield low, high
        low = high


def write_postings(rows: Rows, terms: int, path: Path) -> None:
    """Write the posting lists of a family, in the order of term ids, to files whose names start with `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    counts = np.zeros(terms, np.uint32)
    _count(rows.codes, counts)
    written = 0
    small = LONGEST * len(rows.codes) < 1 << 32  # most collections need no wider offsets
    with (
        Path(f"{path}.lists").open("wb") as out,
        ArrayWriter(Path(f"{path}.list_end.npy"), "<u4" if small else "<u8") as list_ends,
    ):
        for low, high in _ranges(counts):
            starts = np.concatenate(([0], np.cumsum(counts[low:high], dtype=np.int64)))
            found, cells = np.empty(int(starts[-1]), np.int32), np.empty(int(starts[-1]), np.uint8)
            _place(rows.starts, rows.codes, rows.cells, low, high, starts[:-1].copy(), found, cells)
            data = np.empty(LONGEST * len(found), np.uint8)
            ends = np.zeros(high - low, np.int64)
            encode_lists(starts, found, cells, data, ends)
            out.write(data[: int(ends[-1])].data)
            list_ends.append(written + ends)
            written += int(ends[-1])


@compiled
def _frequencies(data: Any, ends: Any, units: Any, identity: bool, documents: Any) -> None:
    start = np.int64(0)
    for number in range(len(ends)):
        at, end = start, np.int64(ends[number])
        row, last, found = np.int64(0), np.int64(-1), 0
        while at < end:
            value, at = get(data, at)
            row += value >> DISTANCE_SHIFT
            if value & 1:
                _, at = get(data, at)
            unit = row if identity else np.int64(units[row])
            if unit != last:
                found += 1
                last = unit
        documents[number] = found
        start = end


def document_frequencies(lists: PostingLists, units: npt.NDArray[np.int32] | None) -> Counts:
    """Return for each term id in how many units (threads, or documents if `units` is None) it occurs."""
    documents = np.zeros(len(lists), np.uint32)
    unit_of = np.empty(0, np.int32) if units is None else units
    _frequencies(lists.data, lists.ends, unit_of, units is None, documents)
    return documents


Floats = npt.NDArray[np.float64]
NO_UNITS = np.empty(0, np.int32)
INTERVALS = 4096  # into which scores are sorted roughly before the best ones are sorted exactly


class UnitMap(NamedTuple):
    """Which unit (thread, question, answer) each row belongs to, -1 for none; `identity` if rows are units. `size` is
    the number of all units, of which `deleted` ones have no row any more."""

    units: npt.NDArray[np.int32]
    identity: bool
    size: int
    deleted: int = 0


@compiled
def add_bm25(
    data: Any, at: int, end: int, units: Any, identity: bool, weights: Any, lengths: Any, mean: float, k1: float,
    b: float, delta: float, factor: float, scores: Any, matched: Any,
) -> None:  # fmt: skip
    """Add factor x (delta + saturated count) of one posting list to the scores of its documents."""
    row, unit, count = np.int64(0), np.int64(-1), 0.0
    while at < end:
        value, at = get(data, at)
        row += value >> DISTANCE_SHIFT
        times = np.int64(1)
        if value & 1:
            times, at = get(data, at)
            times += 2
        weight = weights[(value >> 1) & FIELD_MASK]
        if weight == 0.0:
            continue
        own = row if identity else np.int64(units[row])
        if own < 0:
            continue
        if own != unit:
            if count > 0.0:
                scores[unit] += factor * (delta + saturation(count, lengths[unit], mean, k1, b))
                matched[unit] = True
            unit, count = own, 0.0
        count += weight * times
    if count > 0.0:
        scores[unit] += factor * (delta + saturation(count, lengths[unit], mean, k1, b))
        matched[unit] = True


@compiled
def add_bm25_lists(
    data: Any, starts: Any, ends: Any, units: Any, identity: bool, weights: Any, lengths: Any, mean: float, k1: float,
    b: float, delta: float, factors: Any, scores: Any, matched: Any,
) -> None:  # fmt: skip
    """Add the posting lists of several terms of one family, each with its factor."""
    for at in range(len(starts)):
        add_bm25(
            data, starts[at], ends[at], units, identity, weights, lengths, mean, k1, b, delta, factors[at], scores,
            matched,
        )  # fmt: skip


@compiled
def add_bm25_documents(
    data: Any, starts: Any, ends: Any, length_factors: Any, k1: float, delta: float, factors: Any, scores: Any,
    matched: Any,
) -> None:  # fmt: skip
    """Add the posting lists of several terms where every row is a document with a single field of weight 1, as in the
    formula index."""
    for number in range(len(starts)):
        at, end, factor = starts[number], ends[number], factors[number]
        row, before = np.int64(0), 0.0
        while at < end:
            value = np.int64(data[at])
            at += 1
            if value > 127:
                rest, at = get(data, at)
                value = (value & 127) | (rest << 7)
            distance = value >> DISTANCE_SHIFT
            if distance:
                row, before = row + distance, 0.0
            count = 1.0
            if value & 1:
                more, at = get(data, at)
                count = more + 2.0
            if before:  # a large count is split into several entries
                count += before
                scores[row] -= factor * (delta + saturate(before, length_factors[row], k1))
            scores[row] += factor * (delta + saturate(count, length_factors[row], k1))
            matched[row], before = True, count


@compiled
def _combine(
    rows: Any, cells: Any, size: int, units: Any, identity: bool, weights: Any, found: Any, counts: Any
) -> int:
    """Sum the weighted counts of neighbouring entries of one unit; return how many units there are."""
    number = 0
    for at in range(size):
        weight = weights[cells[at] >> FIELD_SHIFT]
        unit = rows[at] if identity else np.int64(units[rows[at]])
        if weight == 0.0 or unit < 0:
            continue
        if number == 0 or found[number - 1] != unit:
            found[number], counts[number] = unit, 0.0
            number += 1
        counts[number - 1] += weight * (cells[at] & MOST_COUNT)
    return number


def unit_counts(
    data: npt.NDArray[np.uint8], start: int, end: int, units: UnitMap, weights: Floats
) -> tuple[Ints, Floats]:
    """Return the units of one posting list and the weighted count of the term in each."""
    rows, cells = np.empty(end - start, np.int64), np.empty(end - start, np.uint8)
    size = decode(data, start, end, rows, cells)
    found, counts = np.empty(size, np.int64), np.empty(size, np.float64)
    number = _combine(rows, cells, size, units.units, units.identity, weights, found, counts)
    return found[:number], counts[:number]


def best(scores: Floats, matched: npt.NDArray[np.bool_], k: int) -> tuple[Ints, Floats]:
    """Return the k matched rows of the largest scores, best first; equal scores in the order of rows."""
    rows = np.empty(len(scores), np.int32)
    rows = rows[: _most_promising(scores, matched, k, rows)]
    values = scores[rows]
    order = np.argsort(-values, kind="stable")[:k]
    return rows[order].astype(np.int64), values[order]


@compiled
def _most_promising(scores: Any, matched: Any, k: int, rows: Any) -> int:
    """Write the matched rows that may be among the k best, in order; return how many there are, k or little more if as
    many match.

    Scores are counted in intervals of equal width, and those in the lower intervals are left out. Rows are written
    whether they are wanted or not, and counted if they are: which rows match cannot be predicted, so that a condition
    would cost more."""
    found = 0
    for row in range(len(scores)):
        rows[found] = row
        found += matched[row]
    low, high = np.inf, -np.inf
    for at in range(found):
        score = scores[rows[at]]
        low, high = min(low, score), max(high, score)
    if found <= k or not 0.0 < high - low < np.inf:
        return found
    scale = INTERVALS / (high - low)
    counts = np.zeros(INTERVALS + 1, np.int64)
    for at in range(found):
        counts[int((scores[rows[at]] - low) * scale)] += 1
    lowest, above = INTERVALS, counts[INTERVALS]
    while lowest > 0 and above < k:
        lowest -= 1
        above += counts[lowest]
    number = 0
    for at in range(found):
        row = rows[at]
        if (scores[row] - low) * scale >= lowest:  # as for few of the rows
            rows[number] = row
            number += 1
    return number
