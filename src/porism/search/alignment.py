"""How much of one row of symbols stands in another, in order: a weighted edit distance with affine gaps, compiled.

Deleting a symbol of the query costs its weight, inserting one a quarter of it: a formula that says more than was asked is better
than one that says less. A letter in place of a letter costs half its weight, a number in place of a number the whole; no other
symbol replaces another. Each gap costs a little more to open, so that one connected match beats scattered ones (Gotoh, 1982).
similarity = 1 - distance / (distance when nothing matches), between 0 and 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from porism.index.classes import NUMBER, VARIABLE

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
    align_rows(*query, *rows, wanted, np.float32(edge_cost), out)
    return out


@njit(cache=True, nogil=True)
def align_rows(  # type: ignore[no-untyped-def]
    q_labels, q_kinds, q_weights, q_edges, ends, labels, edges, kinds, weights, wanted, edge_cost, out
):
    """Fill `out` with the similarity of every wanted row."""
    size = len(q_labels)
    matched, deleted, inserted = (
        np.empty(size + 1, np.float32),
        np.empty(size + 1, np.float32),
        np.empty(size + 1, np.float32),
    )
    whole = np.float32(0)
    for at in range(size):
        whole += np.float32(DELETE) * q_weights[at]
    for number in range(len(wanted)):
        row = wanted[number]
        start = ends[row - 1] if row > 0 else 0
        total = whole
        for at in range(start, ends[row]):
            total += np.float32(INSERT) * weights[labels[at]]
        distance = align(
            q_labels,
            q_kinds,
            q_weights,
            q_edges,
            labels[start : ends[row]],
            edges[start : ends[row]],
            kinds,
            weights,
            edge_cost,
            matched,
            deleted,
            inserted,
        )
        # Opened gaps can make a distance larger than that of no match at all.
        out[number] = max(0.0, 1.0 - distance / total) if total > 0 else 0.0


@njit(cache=True, nogil=True)
def align(  # type: ignore[no-untyped-def]
    q_labels, q_kinds, q_weights, q_edges, labels, edges, kinds, weights, edge_cost, matched, deleted, inserted
):
    """The distance of two rows; the last three arrays are room to work in. Gaps at both ends of the longer row open free."""
    size = len(q_labels)
    matched[0], deleted[0], inserted[0] = 0, _FAR, _FAR
    for x in range(1, size + 1):
        matched[x] = inserted[x] = _FAR
        deleted[x] = (np.float32(OPEN) if x == 1 else deleted[x - 1]) + np.float32(DELETE) * q_weights[x - 1]
    for y in range(len(labels)):
        label = labels[y]
        kind = kinds[label]
        insert = np.float32(INSERT) * weights[label]
        diagonal = min(matched[0], deleted[0], inserted[0])
        inserted[0] = (np.float32(0) if y == 0 else inserted[0]) + insert
        matched[0] = _FAR
        for x in range(1, size + 1):
            weight = q_weights[x - 1]
            cost = _FAR
            if q_labels[x - 1] == label:
                cost = np.float32(0)
            elif q_kinds[x - 1] == kind and kind == VARIABLE:
                cost = np.float32(LETTER) * weight
            elif q_kinds[x - 1] == kind and kind == NUMBER:
                cost = np.float32(DIGITS) * weight
            if edge_cost > 0 and q_edges[x - 1] != edges[y]:
                cost += edge_cost * weight
            before = min(matched[x], deleted[x])
            opened = np.float32(0) if x == size else np.float32(OPEN)
            following = min(before, inserted[x])
            inserted[x] = min(inserted[x], before + opened) + insert
            deleted[x] = (
                min(deleted[x - 1], min(matched[x - 1], inserted[x - 1]) + np.float32(OPEN))
                + np.float32(DELETE) * weight
            )
            matched[x] = diagonal + cost
            diagonal = following
    return min(matched[size], deleted[size], inserted[size])
