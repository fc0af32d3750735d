"""How much of one row of symbols stands in another, in order: a weighted edit distance with affine gaps, compiled.

Deleting a symbol of the query costs its weight, inserting one a quarter of it: a formula that says more than was asked is better
than one that says less. A letter in place of a letter costs half its weight, a number in place of a number the whole; no other
symbol replaces another. Each gap costs a little more to open, so that one connected match beats scattered ones (Gotoh, 1982).
similarity = 1 - distance / (distance when nothing matches), between 0 and 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.index.analysis.classes import NUMBER, VARIABLE

Array = npt.NDArray[Any]
DELETE, INSERT, OPEN = 1.0, 0.25, 0.25
LETTER, DIGITS = 0.5, 1.0
_FAR = np.float32(1e9)


class Symbols(NamedTuple):
    """A query's row: number, kind, weight and edge of each symbol."""

    labels: npt.NDArray[np.int32]
    kinds: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.float32]
    edges: npt.NDArray[np.uint8]


class Rows(NamedTuple):
    """The rows of all formulas as columns: where each ends, labels, edges; and kind and weight of every label."""

    ends: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int32]
    edges: npt.NDArray[np.uint8]
    kinds: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.float32]


def similarities(
    query: Symbols, rows: Rows, wanted: npt.NDArray[np.int64], edge_cost: float
) -> npt.NDArray[np.float64]:
    """The similarity of the query to each wanted row. A match on another edge costs `edge_cost` times the weight (0: edges are not
    looked at)."""
    out = np.empty(len(wanted), np.float64)
    align_rows(query, rows, wanted, edge_cost, out)
    return out


@compiled
def align_rows(query: Symbols, rows: Rows, wanted: Array, edge_cost: float, out: Array) -> None:
    """Fill `out` with the similarity of every wanted row."""
    size = len(query.labels)
    room = np.empty((3, size + 1), np.float32)
    whole = np.float32(0)
    for at in range(size):
        whole += np.float32(DELETE) * query.weights[at]
    for number in range(len(wanted)):
        row = wanted[number]
        start = rows.ends[row - 1] if row > 0 else 0
        total = whole
        for at in range(start, rows.ends[row]):
            total += np.float32(INSERT) * rows.weights[rows.labels[at]]
        distance = align(query, rows, start, rows.ends[row], np.float32(edge_cost), room[0], room[1], room[2])
        # Opened gaps can make a distance larger than that of no match at all.
        out[number] = max(0.0, 1.0 - distance / total) if total > 0 else 0.0


@compiled
def align(
    query: Symbols, rows: Rows, start: int, stop: int, edge_cost: Any, matched: Array, deleted: Array, inserted: Array
) -> float:
    """The distance of the query and a row; the last three arrays are room to work in. Gaps at both ends of the row open free."""
    size = len(query.labels)
    opening = np.float32(OPEN)
    matched[0], deleted[0], inserted[0] = 0, _FAR, _FAR
    for x in range(1, size + 1):
        matched[x] = inserted[x] = _FAR
        deleted[x] = (opening if x == 1 else deleted[x - 1]) + np.float32(DELETE) * query.weights[x - 1]
    for y in range(start, stop):
        label = rows.labels[y]
        kind = rows.kinds[label]
        insert = np.float32(INSERT) * rows.weights[label]
        diagonal = min(matched[0], deleted[0], inserted[0])
        inserted[0] = (np.float32(0) if y == start else inserted[0]) + insert
        matched[0] = _FAR
        for x in range(1, size + 1):
            weight = query.weights[x - 1]
            cost = _FAR
            if query.labels[x - 1] == label:
                cost = np.float32(0)
            elif query.kinds[x - 1] == kind and kind == VARIABLE:
                cost = np.float32(LETTER) * weight
            elif query.kinds[x - 1] == kind and kind == NUMBER:
                cost = np.float32(DIGITS) * weight
            if edge_cost > 0 and query.edges[x - 1] != rows.edges[y]:
                cost += edge_cost * weight
            before = min(matched[x], deleted[x])
            following = min(before, inserted[x])
            inserted[x] = min(inserted[x], before + (np.float32(0) if x == size else opening)) + insert
            gap = min(deleted[x - 1], min(matched[x - 1], inserted[x - 1]) + opening)
            deleted[x] = gap + np.float32(DELETE) * weight
            matched[x] = diagonal + cost
            diagonal = following
    return float(min(matched[size], deleted[size], inserted[size]))
