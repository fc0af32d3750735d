"""Paths of operator trees: every node with every node above it, the way between them as a number.

After Approach Zero (Zhong and Zanibbi, ECIR 2019): the nodes that reach an ancestor by the same classes of operators are
comparable, whatever their symbols. A letter stands for itself with whatever hangs on it (`x`, `x^2` and `x_1` reach a sum by the same
path). Operands of free operators have no position. Inner operators are entries of their own, so that `sin` against `cos` and `<`
against `=` count as symbols do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.index.analysis.classes import NO_SCRIPT, trait
from porism.index.analysis.flat import FlatOperators

Array = npt.NDArray[Any]
MAX_STEPS = 12
_HANGER, _BASE, _INNER, _UNDER = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F


class Traits(NamedTuple):
    """What the kernel must know of each label, as columns."""

    codes: npt.NDArray[np.uint32]
    letters: npt.NDArray[np.bool_]
    free: npt.NDArray[np.bool_]
    scripts: npt.NDArray[np.uint8]


class Paths(NamedTuple):
    """The paths of a tree, sorted by upper end, key and lower end (ends are numbers of nodes): how many steps each has, and the
    number of the tree's leaves."""

    above: npt.NDArray[np.uint8]
    keys: npt.NDArray[np.uint32]
    below: npt.NDArray[np.uint8]
    steps: npt.NDArray[np.uint8]
    leaves: int


class Forest(NamedTuple):
    """The paths of many trees as whole columns: `tree` says whose a path is, `stops` where the paths of each tree end, `starts` where
    its nodes begin; `number` is the number of each node's label in `labels`."""

    above: npt.NDArray[np.uint8]
    keys: npt.NDArray[np.uint32]
    below: npt.NDArray[np.uint8]
    steps: npt.NDArray[np.uint8]
    tree: npt.NDArray[np.int64]
    stops: list[int]
    leaves: list[int]
    starts: npt.NDArray[np.int64]
    labels: list[str]
    number: npt.NDArray[np.int32]

    def trees(self) -> list[Paths]:
        """The paths of each tree."""
        return [
            Paths(self.above[a:b], self.keys[a:b], self.below[a:b], self.steps[a:b], leaves)
            for a, b, leaves in zip((0, *self.stops[:-1]), self.stops, self.leaves, strict=True)
        ]


def traits_of(labels: list[str]) -> Traits:
    """The traits of labels as columns."""
    found = [trait(label) for label in labels]
    letter = trait("V!x").code
    return Traits(
        np.array([one.code for one in found], np.uint32),
        np.array([one.code == letter for one in found], np.bool_),
        np.array([one.free for one in found], np.bool_),
        np.array([one.script for one in found], np.uint8),
    )


def tree_paths(trees: Sequence[FlatOperators]) -> Forest:
    """All paths of each operator tree; many trees at once, since each call costs more than a tree."""
    ends = np.cumsum([len(tree.labels) for tree in trees])
    parents = np.array([parent for tree in trees for parent in tree.parents], np.int32)
    ranks = np.array([rank for tree in trees for rank in tree.ranks], np.int32)
    numbers: dict[str, int] = {}
    number = np.array([numbers.setdefault(label, len(numbers)) for tree in trees for label in tree.labels], np.int32)
    kinds = traits_of(list(numbers))
    traits = Traits(kinds.codes[number], kinds.letters[number], kinds.free[number], kinds.scripts[number])
    size = len(parents) * (MAX_STEPS + 1)
    columns: list[Array] = [np.empty(size, kind) for kind in (np.uint8, np.uint32, np.uint8, np.uint8)]
    stops, leaves = np.empty(len(trees), np.int64), np.empty(len(trees), np.int64)
    above, keys, below, steps = columns
    climb_all(ends, parents, ranks, traits, above, keys, below, steps, stops, leaves)
    above, keys, below, steps = (column[: stops[-1]] for column in columns)
    tree = np.repeat(np.arange(len(trees)), np.diff(stops, prepend=0))
    order = np.lexsort((below, keys, above, tree))
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
    above, keys, below, steps = above[order], keys[order], below[order], steps[order]
    return Forest(above, keys, below, steps, tree, stops.tolist(), leaves.tolist(), starts, list(numbers), number)


@compiled
def climb_all(
    ends: Array, parents: Array, ranks: Array, traits: Traits, above: Array, keys: Array, below: Array, steps: Array,
    stops: Array, leaves: Array,
) -> None:  # fmt: skip
    """Fill the columns with the paths of all trees, and `stops` and `leaves` for each tree."""
    start = count = 0
    for tree in range(len(ends)):
        end = ends[tree]
        own = Traits(
            traits.codes[start:end], traits.letters[start:end], traits.free[start:end], traits.scripts[start:end]
        )
        room = above[count:], keys[count:], below[count:], steps[count:]
        found, leaves[tree] = climb(parents[start:end], ranks[start:end], own, room[0], room[1], room[2], room[3])
        count += found
        stops[tree] = count
        start = end


@compiled
def climb(
    parents: Array, ranks: Array, traits: Traits, above: Array, keys: Array, below: Array, steps: Array
) -> tuple[int, int]:
    """Fill the columns with all paths of a tree; how many there are, and how many leaves the tree has."""
    codes, scripts = traits.codes, traits.scripts
    size = len(parents)
    inner = np.zeros(size, np.bool_)
    for node in range(1, size):
        inner[parents[node]] = True
    count = leaves = 0
    for node in range(size):
        if inner[node] and scripts[node] != NO_SCRIPT:
            continue
        at = node
        key = np.uint32(codes[node])
        if inner[node]:
            key = step(key, _INNER)
        else:
            leaves += 1
            if traits.letters[node]:
                key = step(key, _HANGER)
                at = hanger(at, parents, ranks, scripts)
        if not inner[node] or parents[node] < 0:
            above[count], keys[count], below[count], steps[count] = at, key, node, 0
            count += 1
        for number in range(1, MAX_STEPS + 1):
            up = parents[at]
            if up < 0:
                break
            if scripts[up] == NO_SCRIPT:
                place = 0 if traits.free[up] else min(ranks[at], 2) + 1
                key = step(key, np.uint32(codes[up]) + np.uint32(place))
                at = up
            elif ranks[at] == 0:
                key = step(key, _BASE + scripts[up])
                at = up
            else:
                key = step(step(key, _UNDER + scripts[up]), _HANGER)
                at = hanger(up, parents, ranks, scripts)
            above[count], keys[count], below[count], steps[count] = at, key, node, number
            count += 1
    return count, leaves


@compiled
def hanger(at: int, parents: Array, ranks: Array, scripts: Array) -> int:
    """The outermost script whose first operand is this node, or the node itself."""
    while parents[at] >= 0 and scripts[parents[at]] != NO_SCRIPT and ranks[at] == 0:
        at = parents[at]
    return at


@compiled
def step(key: Any, code: Any) -> Any:
    """One step up a path: mixes a number of 32 bits into another (after MurmurHash3's finaliser)."""
    mixed = np.uint32(np.uint32(key) * np.uint32(31) + np.uint32(code))
    mixed = np.uint32((mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    return np.uint32(mixed ^ (mixed >> np.uint32(13)))
