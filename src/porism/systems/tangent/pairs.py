"""Symbol pairs of trees, and the first stage of Tangent-S: candidates by the Dice coefficient of their pairs, compiled.

A pair is (label of a node, label of a descendant at most four edges below, edges between them). Below an unordered
operator every edge is 0, so that the order of operands does not matter. Trees of at most two levels also have an
end-of-baseline pair for each node that nothing follows: single symbols have no other pair.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.systems.tangent.forest import FIRST_ELEMENT, Forest

Array = npt.NDArray[Any]
WINDOW = 4
_WITHIN, _ELEMENT = 7, 8
END = 0x7FFFFFFF  # the label of an end-of-baseline pair


class PairIndex(NamedTuple):
    """Posting lists of pairs: pair i, whose code is `codes[i]`, occurs in the trees from `starts[i]` to `starts[i +
    1]`, with their counts."""

    codes: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.int64]
    trees: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int16]
    sizes: npt.NDArray[np.int32]  # pairs of each tree


class TreeScores(NamedTuple):
    """Trees with their scores, best first."""

    trees: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]


def unordered_labels(texts: list[str]) -> npt.NDArray[np.bool_]:
    """Return which labels are operators whose operands have no order."""
    return np.array([text.startswith("U!") for text in texts], np.bool_)


def pair_codes(
    forest: Forest,
    unordered: npt.NDArray[np.bool_],
    operators: bool,
    window: int = WINDOW,
    always_end: bool = False,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Return the codes of the pairs of all trees, tree after tree, and where each tree starts.

    With `always_end` trees of any height have end-of-baseline pairs.
    """
    starts = np.zeros(forest.size + 1, np.int64)
    codes = np.empty(len(forest.labels) * (window + 1), np.uint64)
    used = _fill_codes(forest, unordered, operators, window, always_end, starts, codes)
    return codes[:used].copy(), starts


@compiled
def _fill_codes(
    forest: Forest, unordered: Array, operators: bool, window: int, always_end: bool, starts: Array, codes: Array
) -> int:
    """Write the codes of all pairs; return their number."""
    used = 0
    for tree in range(len(forest.starts) - 1):
        begin, end = forest.starts[tree], forest.starts[tree + 1]
        height = 0
        for at in range(begin, end):
            path, above, steps = 0, forest.parents[at], 0
            below = at
            while above >= 0:
                if steps < window:
                    path += (1 + edge_code(forest, below, above + begin, unordered, operators)) << (7 * steps)
                    codes[used] = mixed(forest.labels[begin + above], forest.labels[at], np.uint64(path))
                    used += 1
                steps += 1
                below = begin + above
                above = forest.parents[below]
            height = max(height, steps)
        if height <= 1 or always_end:
            for at in range(begin, end):
                below, follows = forest.firsts[at], False
                while below >= 0:
                    follows = follows or forest.slots[begin + below] == 0
                    below = forest.nexts[begin + below]
                if not follows:
                    codes[used] = mixed(forest.labels[at], END, np.uint64(1))
                    used += 1
        starts[tree + 1] = used
    return used


@compiled
def edge_code(forest: Forest, node: int, above: int, unordered: Array, operators: bool) -> int:
    """Return the code of the edge above a node."""
    slot = int(forest.slots[node])
    if operators:
        return 0 if unordered[forest.labels[above]] else min(slot, 61)
    return slot if slot < FIRST_ELEMENT else _WITHIN if slot == FIRST_ELEMENT else _ELEMENT


@compiled
def mixed(upper: int, lower: int, code: Any) -> Any:
    """Mix two labels into a code of 64 bits: SplitMix64 before each label and at the end, so that small numbers do not
    cancel out."""
    part = np.uint64(upper)
    for step in range(3):
        code = code + np.uint64(0x9E3779B97F4A7C15)
        code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        code = code ^ (code >> np.uint64(31))
        if step < 2:
            code = code ^ part
            part = np.uint64(lower)
    return code


def index_pairs(forest: Forest, unordered: npt.NDArray[np.bool_], operators: bool) -> PairIndex:
    """Invert the pairs of a forest."""
    codes, starts = pair_codes(forest, unordered, operators)
    sizes = np.diff(starts).astype(np.int32)
    trees = np.repeat(np.arange(forest.size, dtype=np.int32), sizes)
    order = np.lexsort((trees, codes))
    codes, trees = codes[order], trees[order]
    new = np.ones(len(codes), np.bool_)
    new[1:] = (codes[1:] != codes[:-1]) | (trees[1:] != trees[:-1])
    first = np.flatnonzero(new)
    counts = np.diff(np.append(first, len(codes)))
    codes, trees = codes[first], trees[first]
    distinct, begins = np.unique(codes, return_index=True)
    return PairIndex(
        distinct,
        np.append(begins, len(codes)).astype(np.int64),
        trees,
        np.minimum(counts, 32_000).astype(np.int16),
        sizes,
    )


def best_trees(index: PairIndex, query: npt.NDArray[np.uint64], k: int) -> TreeScores:
    """Return the k trees with the largest Dice coefficient of pairs; of equal ones the first in the collection."""
    codes, counts = np.unique(query, return_counts=True)
    common = np.zeros(len(index.sizes), np.int32)
    _add_common(index, codes, counts, common)
    found = np.flatnonzero(common)
    scores = 2.0 * common[found] / (len(query) + index.sizes[found])
    order = np.lexsort((found, -scores))[:k]
    return TreeScores(found[order].astype(np.int64), scores[order])


@compiled
def _add_common(index: PairIndex, codes: Array, counts: Array, common: Array) -> None:
    """Add the number of pairs that each tree has in common with the query."""
    for at in range(len(codes)):
        place = np.searchsorted(index.codes, codes[at])
        if place == len(index.codes) or index.codes[place] != codes[at]:
            continue
        for posting in range(index.starts[place], index.starts[place + 1]):
            common[index.trees[posting]] += min(counts[at], index.counts[posting])
