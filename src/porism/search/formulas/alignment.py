"""Alignment of symbol sequences: a weighted edit distance with affine gaps (Gotoh, 1982), compiled.

Deleting a symbol of the query costs its weight; inserting a symbol costs a quarter of its weight, because a formula that contains
more than the query is better than one that contains less. Replacing a variable by a variable costs half the weight, replacing a
number by a number the whole weight; no other symbol may be replaced. Opening a gap costs extra, so that one connected match beats
scattered ones. similarity = 1 - distance / (distance when nothing matches), between 0 and 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.index.analysis.classes import NUMBER, VARIABLE
from porism.index.protocols import SymbolSequences

Array = npt.NDArray[Any]
DELETE_COST, INSERT_COST, GAP_COST = 1.0, 0.25, 0.25
VARIABLE_COST, NUMBER_COST = 0.5, 1.0  # of replacing a variable or a number by another
_INFINITE = np.float32(1e9)


class SymbolSequence(NamedTuple):
    """The symbols of one formula in reading order: label id, kind, weight and edge of each."""

    labels: npt.NDArray[np.int32]
    kinds: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.float32]
    edges: npt.NDArray[np.uint8]


class LabelTable(NamedTuple):
    """Kind and weight of every label id."""

    kinds: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.float32]


def similarities(
    query: SymbolSequence, candidates: SymbolSequences, table: LabelTable, edge_cost: float
) -> npt.NDArray[np.float64]:
    """Return the similarity of the query to each candidate.

    A match of symbols on different edges costs `edge_cost` times the weight; with 0 the edges are ignored.
    """
    out = np.empty(len(candidates.starts), np.float64)
    fill_similarities(query, candidates, table, edge_cost, out)
    return out


@compiled
def fill_similarities(
    query: SymbolSequence, candidates: SymbolSequences, table: LabelTable, edge_cost: float, out: Array
) -> None:
    """Write the similarity of every candidate into `out`."""
    size = len(query.labels)
    buffers = np.empty((3, size + 1), np.float32)
    query_cost = np.float32(0)
    for at in range(size):
        query_cost += np.float32(DELETE_COST) * query.weights[at]
    for number in range(len(out)):
        start, end = candidates.starts[number], candidates.ends[number]
        total = query_cost
        for at in range(start, end):
            total += np.float32(INSERT_COST) * table.weights[candidates.labels[at]]
        distance = align(
            query, candidates, table, start, end, np.float32(edge_cost), buffers[0], buffers[1], buffers[2]
        )
        # Open gaps can make the distance larger than that of no match at all.
        out[number] = max(0.0, 1.0 - distance / total) if total > 0 else 0.0


@compiled
def align(
    query: SymbolSequence, candidates: SymbolSequences, table: LabelTable, start: int, end: int, edge_cost: Any,
    matched: Array, deleted: Array, inserted: Array,
) -> float:  # fmt: skip
    """Return the distance of the query to the symbols from `start` to `end`; the last three arrays are working buffers.

    Gaps before the first and after the last symbol of the query cost nothing to open.
    """
    size = len(query.labels)
    opening = np.float32(GAP_COST)
    matched[0], deleted[0], inserted[0] = 0, _INFINITE, _INFINITE
    for x in range(1, size + 1):
        matched[x] = inserted[x] = _INFINITE
        deleted[x] = (opening if x == 1 else deleted[x - 1]) + np.float32(DELETE_COST) * query.weights[x - 1]
    for y in range(start, end):
        label = candidates.labels[y]
        kind = table.kinds[label]
        insert = np.float32(INSERT_COST) * table.weights[label]
        diagonal = min(matched[0], deleted[0], inserted[0])
        inserted[0] = (np.float32(0) if y == start else inserted[0]) + insert
        matched[0] = _INFINITE
        for x in range(1, size + 1):
            weight = query.weights[x - 1]
            cost = _INFINITE
            if query.labels[x - 1] == label:
                cost = np.float32(0)
            elif query.kinds[x - 1] == kind and kind == VARIABLE:
                cost = np.float32(VARIABLE_COST) * weight
            elif query.kinds[x - 1] == kind and kind == NUMBER:
                cost = np.float32(NUMBER_COST) * weight
            if edge_cost > 0 and query.edges[x - 1] != candidates.edges[y]:
                cost += edge_cost * weight
            before = min(matched[x], deleted[x])
            following = min(before, inserted[x])
            inserted[x] = min(inserted[x], before + (np.float32(0) if x == size else opening)) + insert
            gap = min(deleted[x - 1], min(matched[x - 1], inserted[x - 1]) + opening)
            deleted[x] = gap + np.float32(DELETE_COST) * weight
            matched[x] = diagonal + cost
            diagonal = following
    return float(min(matched[size], deleted[size], inserted[size]))
