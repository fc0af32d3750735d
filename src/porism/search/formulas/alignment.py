"""Alignment of symbol sequences: a weighted edit distance with affine gaps (Gotoh, 1982), compiled.

Deleting a symbol of the query costs its weight; inserting a symbol costs a quarter of its weight, because a formula
that contains more than the query is better than one that contains less. Replacing a variable by a variable costs half
the weight, replacing a number by a number the whole weight; no other symbol may be replaced. Opening a gap costs extra,
so that one connected match beats scattered ones. similarity = 1 - distance / (distance when nothing matches), between 0
and 1.

LANES formulas of about equal length are aligned at once: the same step of each is one entry of an array, so that the
compiler uses the vector instructions of the processor.

Of a single formula the whole table can be kept, so that the cheapest alignment is followed back: `matched_pairs`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.paths import NUMBER, VARIABLE
from porism.compiled import compiled
from porism.store.records import SymbolSequences

Array = npt.NDArray[Any]
DELETE_COST, INSERT_COST, GAP_COST = 1.0, 0.25, 0.25
VARIABLE_COST, NUMBER_COST = 0.5, 1.0  # of replacing a variable or a number by another
_INFINITE = np.float32(1e9)
_OPENING, _NOTHING = np.float32(GAP_COST), np.float32(0)
LANES = 32
# Where the four values of a cell are, and those of a symbol. Unsigned: numba would test signed positions for being
# negative.
_ONE, _TWO, _THREE, _FOUR = (np.uint64(times * LANES) for times in (1, 2, 3, 4))
MATCHED, DELETED, INSERTED = 0, 1, 2
_NEVER = 1e9  # the cost of what the recurrence forbids
_ROUNDING = 1e-5  # costs that differ by less are equal
_NO_LABEL = np.float32(-1)  # after the last symbol of the shorter formulas


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


class _Costs(NamedTuple):
    """The symbols of the query as the alignment reads them: label, kind and edge as numbers that are compared, and the
    costs of deleting the symbol, of replacing it by another of its kind, and of a match on another edge."""

    labels: npt.NDArray[np.float32]
    kinds: npt.NDArray[np.float32]
    edges: npt.NDArray[np.float32]
    deleting: npt.NDArray[np.float32]
    replacing: npt.NDArray[np.float32]
    moving: npt.NDArray[np.float32]


def similarities(
    query: SymbolSequence, candidates: SymbolSequences, table: LabelTable, edge_cost: float
) -> npt.NDArray[np.float64]:
    """Return the similarity of the query to each candidate.

    A match of symbols on different edges costs `edge_cost` times the weight; with 0 the edges are ignored."""
    weights = query.weights
    replacing = np.full(len(weights), _INFINITE)
    for kind, cost in ((VARIABLE, VARIABLE_COST), (NUMBER, NUMBER_COST)):
        own = query.kinds == kind
        replacing[own] = np.float32(cost) * weights[own]
    labels, kinds, edges = (np.asarray(values, np.float32) for values in (query.labels, query.kinds, query.edges))
    edges = edges if edge_cost > 0 else np.zeros(len(labels), np.float32)
    costs = _Costs(labels, kinds, edges, np.float32(DELETE_COST) * weights, replacing, np.float32(edge_cost) * weights)
    out = np.empty(len(candidates.starts), np.float64)
    by_length = np.argsort(candidates.ends - candidates.starts, kind="stable")
    fill_similarities(costs, candidates, table, edge_cost > 0, by_length, out)
    return out


@compiled
def fill_similarities(
    query: _Costs, candidates: SymbolSequences, table: LabelTable, with_edges: bool, by_length: Array, out: Array
) -> None:
    """Write the similarity of every candidate into `out`. `by_length` are their positions, the shortest first."""
    number = len(out)
    longest = 0
    if number:
        longest = candidates.ends[by_length[number - 1]] - candidates.starts[by_length[number - 1]]
    symbols = np.zeros(4 * LANES * longest, np.float32)
    cells = np.empty(4 * LANES * (len(query.labels) + 1), np.float32)
    lengths, totals, distances = np.empty(LANES, np.int64), np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    query_cost = _NOTHING
    for cost in query.deleting:
        query_cost += cost
    for first in range(0, number, LANES):
        used = min(LANES, number - first)
        for lane in range(LANES):  # the last lanes may have nothing to do: they repeat the last formula
            item = by_length[min(first + lane, number - 1)]
            lengths[lane] = candidates.ends[item] - candidates.starts[item]
        for lane in range(LANES):
            item = by_length[min(first + lane, number - 1)]
            longest = lengths[LANES - 1]
            totals[lane] = read_symbols(candidates, table, with_edges, item, lane, longest, symbols, query_cost)
        align(query, symbols, lengths, cells, distances)
        for lane in range(used):
            # Open gaps can make the distance larger than that of no match at all.
            share = float(distances[lane]) / totals[lane] if totals[lane] > 0 else 1.0
            out[by_length[first + lane]] = max(0.0, 1.0 - share)


@compiled
def read_symbols(
    candidates: SymbolSequences, table: LabelTable, with_edges: bool, item: int, lane: int, longest: int,
    symbols: Array, total: Any,
) -> Any:  # fmt: skip
    """Write label, kind, edge and insertion cost of each symbol of a candidate into a lane; add the costs to
    `total`."""
    start, end = candidates.starts[item], candidates.ends[item]
    at = lane
    for symbol in range(start, end):
        label = candidates.labels[symbol]
        cost = np.float32(INSERT_COST) * table.weights[label]
        total += cost
        symbols[at] = label
        symbols[at + LANES] = table.kinds[label]
        symbols[at + 2 * LANES] = candidates.edges[symbol] if with_edges else 0
        symbols[at + 3 * LANES] = cost
        at += 4 * LANES
    for _ in range(longest - (end - start)):
        symbols[at] = symbols[at + LANES] = _NO_LABEL
        at += 4 * LANES
    return total


@compiled
def align(query: _Costs, symbols: Array, lengths: Array, cells: Array, distances: Array) -> None:
    """Write the distance of the query to the formula in each lane. `cells` is a working buffer: for each symbol of the
    query, and before the first one, the costs of all alignments so far that end with a match, a deletion or an
    insertion, and the least of the three before the last symbol of the formula.

    Gaps before the first and after the last symbol of the query cost nothing to open."""
    size = len(query.labels)
    for lane in range(LANES):
        cells[lane], cells[lane + LANES], cells[lane + 2 * LANES] = _NOTHING, _INFINITE, _INFINITE
    for x in range(1, size + 1):
        at = 4 * LANES * x
        for lane in range(at, at + LANES):
            cells[lane] = cells[lane + 2 * LANES] = _INFINITE
            cells[lane + LANES] = (_OPENING if x == 1 else cells[lane - 3 * LANES]) + query.deleting[x - 1]
    for y in range(lengths[LANES - 1]):
        symbol = np.uint64(4 * LANES * y)
        for lane in range(_ONE):
            matched, deleted, inserted = cells[lane], cells[lane + _ONE], cells[lane + _TWO]
            cells[lane + _THREE] = min(matched, deleted, inserted)
            cells[lane + _TWO] = (_NOTHING if y == 0 else inserted) + symbols[symbol + lane + _THREE]
            cells[lane] = _INFINITE
        for x in range(size):
            opening = _NOTHING if x == size - 1 else _OPENING
            advance(
                cells, np.uint64(x + 1) * _FOUR, symbols, symbol, query.labels[x], query.kinds[x], query.edges[x],
                query.deleting[x], query.replacing[x], query.moving[x], opening,
            )  # fmt: skip
        last = 4 * LANES * size
        for lane in range(LANES):
            if lengths[lane] == y + 1:
                at = last + lane
                distances[lane] = min(cells[at], cells[at + LANES], cells[at + 2 * LANES])


@compiled
def advance(
    cells: Array, cell: Any, symbols: Array, symbol: Any, label: Any, kind: Any, edge: Any, deleting: Any,
    replacing: Any, moving: Any, opening: Any,
) -> None:  # fmt: skip
    """Compute the cell of one symbol of the query and the next symbol of each formula. Conditions choose between values
    that are all computed, since only such code becomes vector instructions."""
    for lane in range(_ONE):
        at, other = cell + lane, symbol + lane
        matched, deleted, inserted = cells[at], cells[at + _ONE], cells[at + _TWO]
        matched_before, inserted_before = cells[at - _FOUR], cells[at - _TWO]
        opened = (matched_before if matched_before < inserted_before else inserted_before) + _OPENING
        deleted_before = cells[at - _THREE]
        diagonal = cells[at - _ONE]
        another = replacing if symbols[other + _ONE] == kind else _INFINITE
        cost = _NOTHING if symbols[other] == label else another
        moved = _NOTHING if symbols[other + _TWO] == edge else moving
        before = matched if matched < deleted else deleted
        gap = before + opening
        cells[at + _THREE] = before if before < inserted else inserted
        cells[at + _TWO] = (inserted if inserted < gap else gap) + symbols[other + _THREE]
        cells[at + _ONE] = (deleted_before if deleted_before < opened else opened) + deleting
        cells[at] = diagonal + (cost + moved)


class SymbolPair(NamedTuple):
    """Positions of two symbols that match, in reading order of the query and of the formula."""

    query: int
    item: int


def matched_pairs(query: SymbolSequence, item: SymbolSequence) -> list[SymbolPair]:
    """Return the pairs of the cheapest alignment, in order. A match on different edges costs the symbol's weight."""
    return [SymbolPair(a, b) for a, b in cheapest_path(query, item).tolist()]


@compiled
def cheapest_path(query: SymbolSequence, item: SymbolSequence) -> Array:
    """Return the pairs of the cheapest alignment as rows of an array."""
    costs, steps = cost_table(query, item)
    return trace_back(costs, steps)


@compiled
def cost_table(query: SymbolSequence, item: SymbolSequence) -> tuple[Array, Array]:
    """For every prefix of both sequences and every last step, compute the least cost and the step before it."""
    size, length = len(query.labels), len(item.labels)
    costs = np.full((size + 1, length + 1, 3), _NEVER)
    steps = np.zeros((size + 1, length + 1, 3), np.uint8)
    costs[0, 0, MATCHED] = 0.0
    for x in range(size + 1):
        opening = GAP_COST if 0 < x < size else 0.0  # gaps at both ends of the query cost nothing to open
        for y in range(length + 1):
            if x and y:
                least, last = cheapest(costs[x - 1, y - 1], MATCHED, 0.0)
                cost = substitution_cost(query, x - 1, item, y - 1)
                if cost < _NEVER:
                    costs[x, y, MATCHED], steps[x, y, MATCHED] = least + cost, last
            if x:
                least, last = cheapest(costs[x - 1, y], DELETED, GAP_COST)
                costs[x, y, DELETED], steps[x, y, DELETED] = least + DELETE_COST * query.weights[x - 1], last
            if y:
                least, last = cheapest(costs[x, y - 1], INSERTED, opening)
                costs[x, y, INSERTED], steps[x, y, INSERTED] = least + INSERT_COST * item.weights[y - 1], last
    return costs, steps


@compiled
def cheapest(before: Array, same: int, opening: float) -> tuple[float, int]:
    """Return the least cost of continuing with the step `same`, and the step before it; the first one of equals."""
    least, last = before[0] + (0.0 if same == 0 else opening), 0
    for step in range(1, 3):
        cost = before[step] + (0.0 if step == same else opening)
        if cost < least - _ROUNDING:
            least, last = cost, step
    return least, last


@compiled
def substitution_cost(query: SymbolSequence, x: int, item: SymbolSequence, y: int) -> float:
    """Return the cost of matching symbol x of the query with symbol y of the formula."""
    weight = np.float64(query.weights[x])
    cost = 0.0
    if query.labels[x] != item.labels[y]:
        if query.kinds[x] != item.kinds[y]:
            return _NEVER
        if query.kinds[x] == VARIABLE:
            cost = VARIABLE_COST * weight
        elif query.kinds[x] == NUMBER:
            cost = NUMBER_COST * weight
        else:
            return _NEVER
    return cost if query.edges[x] == item.edges[y] else cost + weight


@compiled
def trace_back(costs: Array, steps: Array) -> Array:
    """Follow the cheapest path from the end of both sequences and return the matched pairs."""
    x, y = costs.shape[0] - 1, costs.shape[1] - 1
    pairs = np.empty((min(x, y), 2), np.int64)
    at = len(pairs)
    step = cheapest(costs[x, y], MATCHED, 0.0)[1]
    while x or y:
        before = steps[x, y, step]
        if step == MATCHED:
            at -= 1
            pairs[at, 0], pairs[at, 1] = x - 1, y - 1
        if step != INSERTED:
            x -= 1
        if step != DELETED:
            y -= 1
        step = before
    return pairs[at:]
