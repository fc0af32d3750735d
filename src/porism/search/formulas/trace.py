"""Which symbols of one row the cheapest alignment pairs with which of another: the recurrence of `alignment.align`, kept whole so that
it can be walked back, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.index.analysis.classes import NUMBER, VARIABLE
from porism.search.formulas.alignment import DELETE, DIGITS, INSERT, LETTER, OPEN, Symbols

Array = npt.NDArray[Any]
MATCHED, DELETED, INSERTED = 0, 1, 2
_FAR = 1e9
_ROUNDING = 1e-5  # costs that differ by less are equal


def paired(asked: Symbols, given: Symbols) -> list[tuple[int, int]]:
    """The pairs of the cheapest alignment, in order. A match on another edge costs the symbol's weight."""
    found: Array = walk_back(*fill(asked, given))
    return [(a, b) for a, b in found.tolist()]


@compiled
def fill(asked: Symbols, given: Symbols) -> tuple[Array, Array]:
    """For every beginning of both rows and every last step: the least cost, and the step before it."""
    size, length = len(asked.labels), len(given.labels)
    costs = np.full((size + 1, length + 1, 3), _FAR)
    steps = np.zeros((size + 1, length + 1, 3), np.uint8)
    costs[0, 0, MATCHED] = 0.0
    for x in range(size + 1):
        opening = OPEN if 0 < x < size else 0.0  # gaps at both ends of the given row open free
        for y in range(length + 1):
            if x and y:
                least, last = cheapest(costs[x - 1, y - 1], MATCHED, 0.0)
                cost = exchange(asked, x - 1, given, y - 1)
                if cost < _FAR:
                    costs[x, y, MATCHED], steps[x, y, MATCHED] = least + cost, last
            if x:
                least, last = cheapest(costs[x - 1, y], DELETED, OPEN)
                costs[x, y, DELETED], steps[x, y, DELETED] = least + DELETE * asked.weights[x - 1], last
            if y:
                least, last = cheapest(costs[x, y - 1], INSERTED, opening)
                costs[x, y, INSERTED], steps[x, y, INSERTED] = least + INSERT * given.weights[y - 1], last
    return costs, steps


@compiled
def cheapest(before: Array, same: int, opening: float) -> tuple[float, int]:
    """The least cost of going on with a step; of equals the first."""
    least, last = before[0] + (0.0 if same == 0 else opening), 0
    for step in range(1, 3):
        cost = before[step] + (0.0 if step == same else opening)
        if cost < least - _ROUNDING:
            least, last = cost, step
    return least, last


@compiled
def exchange(asked: Symbols, x: int, given: Symbols, y: int) -> float:
    """What it costs that a symbol stands for another."""
    weight = np.float64(asked.weights[x])
    cost = 0.0
    if asked.labels[x] != given.labels[y]:
        if asked.kinds[x] != given.kinds[y]:
            return _FAR
        if asked.kinds[x] == VARIABLE:
            cost = LETTER * weight
        elif asked.kinds[x] == NUMBER:
            cost = DIGITS * weight
        else:
            return _FAR
    return cost if asked.edges[x] == given.edges[y] else cost + weight


@compiled
def walk_back(costs: Array, steps: Array) -> Array:
    """The matched pairs on the way to the end of both rows."""
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
