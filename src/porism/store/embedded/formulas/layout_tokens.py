"""Write the tuples of layout trees that are arrays, as `mathtuples` writes those of nodes. Compiled.

Characters are numbers here: 40 and 41 are round brackets, 91 and 93 square ones, 123 and 125 braces, 44 is a comma."""

from __future__ import annotations

from typing import Any

import numpy as np

from porism.compiled import compiled
from porism.formula.layout.tuples import MAX_DEPTH, WINDOW


@compiled
def sort_edges(edges: Any, start: int, width: int, ranks: Any, order: Any) -> None:
    """Fill in the order of a node's edges by rank; equal ones stay in order."""
    for at in range(width):
        rank = ranks[edges[start + at]]
        place = at
        while place > 0 and ranks[edges[start + order[place - 1]]] > rank:
            order[place] = order[place - 1]
            place -= 1
        order[place] = at


@compiled
def child_of(node: int, number: int, sizes: Any) -> int:
    """Return the position of a child."""
    at = node + 1
    for _ in range(number):
        at += sizes[at]
    return at


@compiled
def _put(data: Any, at: int, text: Any, start: int, end: int) -> int:
    """Append a part of a text; return where the data ends."""
    for place in range(start, end):
        data[at] = text[place]
        at += 1
    return at


@compiled
def _put_path(data: Any, at: int, path: Any, start: int, end: int) -> int:
    """Append a path: `-` when empty, run-length coded when longer than five."""
    if end == start:
        data[at] = 45  # -
        return at + 1
    if end - start <= 5:
        return _put(data, at, path, start, end)
    while start < end:
        after = start
        while after < end and path[after] == path[start]:
            after += 1
        count = after - start
        if count >= 100:
            data[at] = 48 + count // 100
            at += 1
        if count >= 10:
            data[at] = 48 + count // 10 % 10
            at += 1
        data[at] = 48 + count % 10
        data[at + 1] = path[start]
        at += 2
        start = after
    return at


@compiled
def _end_token(
    data: Any, start: int, at: int, path: Any, length: int, closing: int, window: int, ends: Any, count: int
) -> int:
    """Close a token; write it again with its location where that is near enough. Return the number of tokens."""
    data[at] = closing
    ends[count] = at + 1
    if length >= window - 1:
        return count + 1
    end = _put(data, at + 1, data, start, at)
    data[end] = 44  # ,
    end = _put_path(data, end + 1, path, 0, length)
    data[end] = closing
    ends[count + 1] = end + 1
    return count + 2


@compiled
def write_tokens(
    trees: Any, first: int, end: int, texts: Any, ranks: Any, scratch: Any, paths: Any, lengths: Any, last: Any,
    data: Any, ends: Any, sizes: Any,
) -> int:  # fmt: skip
    """Write the tokens of trees, without the first and the last of each. Fill in where each token ends, and how many
    each tree has; return how many all have. `last` is -1 everywhere, before and after."""
    count = 0
    for tree in range(first, end):
        before = count
        root = trees.starts[tree]
        seen = _write_nodes(trees, root, texts, ranks, scratch, paths, lengths, data, ends, count)
        count = seen[1]
        count = _write_duplicates(
            trees.labels, root, seen[0], texts, scratch[2], paths, lengths, last, data, ends, count
        )
        sizes[tree - first] = count - before
    return count


@compiled
def _write_nodes(
    trees: Any, root: int, texts: Any, ranks: Any, scratch: Any, paths: Any, lengths: Any, data: Any, ends: Any,
    count: int,
) -> tuple[int, int]:  # fmt: skip
    """Write terminals, compounds and pairs. Return how many nodes were visited and how many tokens there are."""
    order, stack, visited = scratch[0], scratch[1], scratch[2]
    depths = np.zeros(len(stack), np.int64)
    stack[0], lengths[0], height, nodes = 0, 0, 1, 0
    while height:
        height -= 1
        own = stack[height]
        visited[nodes] = own
        nodes += 1
        node = root + own
        label = trees.labels[node]
        width, edge_start = trees.widths[node], trees.edge_starts[node]
        text, text_end = texts.written_at[label], texts.written_at[label + 1]
        path, length = paths[own], lengths[own]
        if width == 0 or depths[own] >= MAX_DEPTH:
            start = ends[count - 1] if count else 0
            at = _open(data, start, texts.texts, text, text_end, 40)
            data[at], data[at + 1] = 33, 48  # !0
            count = _end_token(data, start, at + 2, path, length, 41, WINDOW, ends, count)
            continue
        special = False
        for at in range(width):
            order[at] = at
            special |= trees.edges[edge_start + at] == 99  # c
        if special:
            sort_edges(trees.edges, edge_start, width, ranks, order)
        if width > 1:
            start = ends[count - 1] if count else 0
            at = _open(data, start, texts.texts, text, text_end, 40)
            for place in range(width):
                data[at], data[at + 1] = 44 if place else 91, trees.edges[edge_start + order[place]]  # , or [
                at += 2
            data[at] = 93  # ]
            count = _end_token(data, start, at + 1, path, length, 41, WINDOW, ends, count)
        for place in range(width):
            edge = trees.edges[edge_start + order[place]]
            below = child_of(node, order[place], trees.sizes)
            other = trees.labels[below]
            start = ends[count - 1] if count else 0
            at = _open(data, start, texts.texts, text, text_end, 40)
            at = _put(data, at, texts.texts, texts.written_at[other], texts.written_at[other + 1])
            data[at], data[at + 1] = 44, edge
            count = _end_token(data, start, at + 2, path, length, 41, WINDOW, ends, count)
            child = below - root
            lengths[child] = 0
            if not texts.anchors[label]:
                lengths[child] = _put(paths[child], 0, path, 0, length) + 1
                paths[child][length] = edge
            depths[child] = depths[own] + 1
            stack[height] = child
            height += 1
    return nodes, count


@compiled
def _open(data: Any, at: int, texts: Any, start: int, end: int, opening: int) -> int:
    """Begin a token with a label and a comma; return where the data ends."""
    data[at] = opening
    at = _put(data, at + 1, texts, start, end)
    data[at] = 44  # ,
    return at + 1


@compiled
def _write_duplicates(
    labels: Any, root: int, nodes: int, texts: Any, visited: Any, paths: Any, lengths: Any, last: Any, data: Any,
    ends: Any, count: int,
) -> int:  # fmt: skip
    """Write the tokens of labels that occur again, nodes in post-order: each occurrence is paired with the one before
    it."""
    for place in range(nodes - 1, -1, -1):
        own = visited[place]
        label = labels[root + own]
        number = texts.numbers[label]
        before, last[number] = last[number], own
        if before < 0:
            continue
        path, length = paths[own], lengths[own]
        common = 0
        while common < length and common < lengths[before] and path[common] == paths[before][common]:
            common += 1
        for wildcard in range(2):
            bounds = texts.wildcard_at if wildcard else texts.written_at
            start = ends[count - 1] if count else 0
            at = _open(data, start, texts.texts, bounds[label], bounds[label + 1], 123)
            at = _put_path(data, at, paths[before], common, lengths[before])
            if common < length:
                data[at] = 44
                at = _put_path(data, at + 1, path, common, length)
            count = _end_token(data, start, at, path, common, 125, WINDOW, ends, count)
    for place in range(nodes):
        last[texts.numbers[labels[root + visited[place]]]] = -1
    return count
