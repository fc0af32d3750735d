"""Add up the weights of posting lists over documents, and choose the best. Compiled.

BM25 and its relatives are computed while a list is read. Any other weighting gets the counts and lengths of a list as
arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.store.embedded.storage.rows import FIELD_SHIFT, MOST_COUNT, get
from porism.store.embedded.terms.postings import DISTANCE_SHIFT, FIELD_MASK, decode
from porism.store.weighting import saturate, saturation

Ints = npt.NDArray[np.int64]
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
        row = np.int64(0)
        while at < end:
            value = np.int64(data[at])
            at += 1
            if value > 127:
                rest, at = get(data, at)
                value = (value & 127) | (rest << 7)
            row += value >> DISTANCE_SHIFT
            count = 1.0
            if value & 1:
                more, at = get(data, at)
                count = more + 2.0
            scores[row] += factor * (delta + saturate(count, length_factors[row], k1))
            matched[row] = True


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
