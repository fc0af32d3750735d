"""Tree edit distance as a feature of DPRL, compiled (Zhang and Shasha, 1989).

The distance is computed on trees that DPRL's program rebuilds from the list of parent-child pairs: an end-of-baseline
mark goes one level up, and a pair is attached to the nearest ancestor with the label of its parent. Where labels
repeat, this is not always the true parent, and where no ancestor has that label there is no tree and the feature is 0.
The published features depend on it, so it is reproduced.

feature = 1 - (distance / 10) / (nodes of the query + nodes of the candidate)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from porism.compiled import compiled
from porism.systems.arrays import Array, Floats, Ints, Small
from porism.systems.tangent.forest import Forest, QueryLabels, is_followed

_SPELLED = str.maketrans({"{": "$$$", "}": "$$$"})  # braces are the marks of the original's tree notation
MAX_STEPS = 20_000_000  # of one distance; a pair of formulas beyond it has feature 0


class Costs(NamedTuple):
    """The costs of deleting a node of the query, inserting a node of the candidate, and renaming."""

    delete: int
    insert: int
    rename: int


PLAIN = Costs(1, 1, 1)
LAYOUT_WEIGHTED = Costs(4, 2, 4)
OPERATORS_WEIGHTED = Costs(3, 2, 2)


class PostOrder(NamedTuple):
    """A tree in post-order: labels, the leftmost leaf below each node, and which nodes are key roots."""

    labels: Small
    lefts: Small
    key_roots: Small


class Distances(NamedTuple):
    """Distances of candidates, a column for each set of costs (NaN without a tree), and the nodes of both trees."""

    values: Floats
    nodes: Small


class EditFeatures(NamedTuple):
    """The features of candidates with two sets of costs."""

    plain: Floats
    weighted: Floats


def type_of(label: str) -> str:
    """Return the type of a label, the text before `!`; a label without a type stays as it is."""
    return label.split("!")[0] if "!" in label else label


def symbol_ids(labels: QueryLabels, types: bool, braces: bool = True) -> Small:
    """Return the number of each label's symbol: the label or its type. Without `braces` both braces are one symbol."""

    def symbol(label: str) -> str:
        written = type_of(label) if types else label
        return written if braces else written.translate(_SPELLED)

    return labels.symbols(f"types {types}, braces {braces}", symbol)


def edit_features(query: Forest, candidates: Forest, chosen: Ints, symbols: Small, operators: bool) -> EditFeatures:
    """Return the features of the chosen candidates for a query, which is a forest of one tree."""
    costs = (PLAIN, OPERATORS_WEIGHTED if operators else LAYOUT_WEIGHTED)
    found = edit_distances(query, candidates, chosen, symbols, operators, costs)
    features = 1.0 - found.values / 10.0 / np.maximum(found.nodes, 1)[:, None]
    plain, weighted = np.nan_to_num(features, nan=0.0).T
    return EditFeatures(plain, weighted)


def edit_distances(
    query: Forest, candidates: Forest, chosen: Ints, symbols: Small, operators: bool, costs: Sequence[Costs]
) -> Distances:
    """Return the distances of the chosen candidates for several sets of costs."""
    values = np.full((len(chosen), len(costs)), np.nan)
    nodes = np.zeros(len(chosen), np.int32)
    _fill_distances(query, candidates, chosen, symbols, operators, np.array(costs, np.int64), values, nodes)
    return Distances(values, nodes)


@compiled
def _fill_distances(
    query: Forest, candidates: Forest, chosen: Array, symbols: Array, operators: bool, costs: Array, values: Array,
    nodes: Array,
) -> None:  # fmt: skip
    """Write the distances of each candidate, one column for each set of costs."""
    first = _rebuilt(query, 0, symbols, operators)
    if len(first.labels) == 0:
        return
    for at in range(len(chosen)):
        second = _rebuilt(candidates, chosen[at], symbols, operators)
        if len(second.labels) == 0 or _steps(first) * _steps(second) > MAX_STEPS:
            continue
        nodes[at] = len(first.labels) + len(second.labels)
        for column in range(len(costs)):
            delete, insert, rename = costs[column]
            values[at, column] = tree_distance(first, second, delete, insert, rename)


@compiled
def _steps(tree: PostOrder) -> int:
    """Return the sum of the sizes of all key roots' subtrees, which bounds the work."""
    steps = 0
    for root in tree.key_roots:
        steps += root - tree.lefts[root] + 1
    return steps


@compiled
def _rebuilt(forest: Forest, tree: int, symbols: Array, operators: bool) -> PostOrder:
    """Return a tree as the original rebuilds it, in post-order; an empty one where that fails."""
    begin, end = forest.starts[tree], forest.starts[tree + 1]
    size = end - begin
    parents = np.full(size, -1, np.int32)
    current = 0
    for at in range(1, size):
        true_parent = forest.parents[begin + at]
        finished = at - 1  # nodes whose subtree is complete before this one
        while finished != true_parent:
            ended = forest.firsts[begin + finished] < 0 if operators else not is_followed(forest, begin, finished)
            if ended:  # an end-of-baseline mark
                if current < 0:
                    return _post_order(parents[:0], symbols[:0])
                current = parents[current]
            finished = forest.parents[begin + finished]
        wanted = symbols[forest.labels[begin + true_parent]]
        while current >= 0 and symbols[forest.labels[begin + current]] != wanted:
            current = parents[current]
        if current < 0:
            return _post_order(parents[:0], symbols[:0])
        parents[at] = current
        current = at
    return _post_order(parents, symbols[forest.labels[begin:end]])


@compiled
def _post_order(parents: Array, labels: Array) -> PostOrder:
    """Return a tree, given in pre-order by its parents, in post-order."""
    size = len(parents)
    children = np.zeros(size, np.int32)
    last_child, before = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    for at in range(1, size):
        children[parents[at]] += 1
        before[at] = last_child[parents[at]]
        last_child[parents[at]] = at
    # Walk backwards: the root comes last, then its last child, and so on.
    place, lefts = np.empty(size, np.int32), np.empty(size, np.int32)
    order = np.empty(size, np.int32)
    stack = np.empty(size + 1, np.int32)
    height, number = 0, size - 1
    if size:
        stack[0], height = 0, 1
    while height:
        height -= 1
        node = stack[height]
        place[node], order[number] = number, node
        number -= 1
        first_pushed = height
        child = last_child[node]
        while child >= 0:
            stack[height] = child
            height += 1
            child = before[child]
        # The last child must be taken first.
        low, high = first_pushed, height - 1
        while low < high:
            stack[low], stack[high] = stack[high], stack[low]
            low, high = low + 1, high - 1
    new_labels, roots = np.empty(size, np.int32), np.empty(size, np.int32)
    first_child = np.full(size, -1, np.int32)
    for at in range(size - 1, 0, -1):
        first_child[parents[at]] = at
    for at in range(size):
        node = order[at]
        new_labels[at] = labels[node]
        lefts[at] = at if children[node] == 0 else lefts[place[first_child[node]]]
    found, seen = 0, np.zeros(size + 1, np.bool_)
    for at in range(size - 1, -1, -1):
        if not seen[lefts[at]]:
            seen[lefts[at]] = True
            roots[found] = at
            found += 1
    return PostOrder(new_labels, lefts, roots[:found][::-1].copy())


@compiled
def tree_distance(first: PostOrder, second: PostOrder, delete: int, insert: int, rename: int) -> int:
    """Return the edit distance of two trees."""
    rows, columns = len(first.labels), len(second.labels)
    trees = np.zeros((rows, columns), np.int32)
    forests = np.zeros((rows + 1, columns + 1), np.int32)
    for i in first.key_roots:
        for j in second.key_roots:
            left, right = first.lefts[i], second.lefts[j]
            height, width = i - left + 2, j - right + 2
            for x in range(1, height):
                forests[x, 0] = forests[x - 1, 0] + delete
            for y in range(1, width):
                forests[0, y] = forests[0, y - 1] + insert
            for x in range(1, height):
                a = left + x - 1
                for y in range(1, width):
                    b = right + y - 1
                    best = min(forests[x - 1, y] + delete, forests[x, y - 1] + insert)
                    if first.lefts[a] == left and second.lefts[b] == right:
                        change = 0 if first.labels[a] == second.labels[b] else rename
                        best = min(best, forests[x - 1, y - 1] + change)
                        trees[a, b] = best
                    else:
                        best = min(best, forests[first.lefts[a] - left, second.lefts[b] - right] + trees[a, b])
                    forests[x, y] = best
    return int(trees[rows - 1, columns - 1])
