"""Traceback of the alignment: which symbols of the query the cheapest alignment pairs with which symbols of a formula,
compiled.

The recurrence is that of `alignment.advance`, with the whole table kept so that the path can be followed back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.classes import NUMBER, VARIABLE
from porism.compiled import compiled
from porism.search.formulas.alignment import (
    DELETE_COST,
    GAP_COST,
    INSERT_COST,
    NUMBER_COST,
    VARIABLE_COST,
    SymbolSequence,
)

Array = npt.NDArray[Any]
MATCHED, DELETED, INSERTED = 0, 1, 2
_INFINITE = 1e9
_ROUNDING = 1e-5  # costs that differ by less are equal


class SymbolPair(NamedTuple):
    """Positions of two symbols that match, in reading order of the query and of the formula."""

    query: int
    item: int


def matched_pairs(query: SymbolSequence, item: SymbolSequence) -> list[SymbolPair]:
    """Return the pairs of the cheapest alignment, in order. A match of symbols on different edges costs the symbol's
    weight."""
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
    costs = np.full((size + 1, length + 1, 3), _INFINITE)
    steps = np.zeros((size + 1, length + 1, 3), np.uint8)
    costs[0, 0, MATCHED] = 0.0
    for x in range(size + 1):
        opening = GAP_COST if 0 < x < size else 0.0  # gaps at both ends of the query cost nothing to open
        for y in range(length + 1):
            if x and y:
                least, last = cheapest(costs[x - 1, y - 1], MATCHED, 0.0)
                cost = substitution_cost(query, x - 1, item, y - 1)
                if cost < _INFINITE:
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
            return _INFINITE
        if query.kinds[x] == VARIABLE:
            cost = VARIABLE_COST * weight
        elif query.kinds[x] == NUMBER:
            cost = NUMBER_COST * weight
        else:
            return _INFINITE
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
