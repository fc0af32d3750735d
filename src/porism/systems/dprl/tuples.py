"""Tuple matching as a feature of DPRL, compiled.

A tuple is (label, label of a descendant at most two edges below, edges between them, path from the root), with end-of-baseline tuples. The original
compares the four fields as one text, so that edges `nn` with path `n` equal edges `n` with path `nn`; so do we. `found` counts the query's tuples that
occur anywhere in the candidate; R = found / tuples of the query, P = found / tuples of the candidate.

feature = 2RP / (R + P + 1)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.systems.tangent.forest import Forest
from porism.systems.tangent.pairs import END, edge_code, mixed

Array = npt.NDArray[Any]
WINDOW = 2
_PLAIN_PATH = 5  # longest path that is not run-length coded
_BASE = np.uint64(0x100000001B3)
_ROOT, _DIGIT, _NEXT = ord("-"), ord("0"), ord("n")
_LAYOUT_EDGES = np.frombuffer(b"naboucdwe", np.uint8)


def tuple_features(
    query: Forest,
    candidates: Forest,
    chosen: npt.NDArray[np.int64],
    symbols: npt.NDArray[np.int32],
    unordered: npt.NDArray[np.bool_],
    operators: bool,
) -> npt.NDArray[np.float64]:
    """Return the feature of each chosen candidate. `symbols` maps label ids to the symbols that are compared."""
    out = np.zeros(len(chosen))
    codes = _located_codes(query, 0, symbols, unordered, operators)
    distinct, counts = np.unique(codes, return_counts=True)
    _fill(distinct, counts, len(codes), candidates, chosen, symbols, unordered, operators, out)
    return out


@compiled
def _fill(
    distinct: Array, counts: Array, size: int, candidates: Forest, chosen: Array, symbols: Array, unordered: Array,
    operators: bool, out: Array,
) -> None:  # fmt: skip
    """Write the feature of each candidate."""
    for at in range(len(chosen)):
        codes = _located_codes(candidates, chosen[at], symbols, unordered, operators)
        seen = np.zeros(len(distinct), np.bool_)
        for code in codes:
            place = np.searchsorted(distinct, code)
            if place < len(distinct) and distinct[place] == code:
                seen[place] = True
        found = 0.0
        for place in range(len(distinct)):
            if seen[place]:
                found += counts[place]
        if len(codes) and size:
            recall, precision = found / size, found / len(codes)
            out[at] = 2.0 * recall * precision / (recall + precision + 1.0)


@compiled
def _located_codes(forest: Forest, tree: int, symbols: Array, unordered: Array, operators: bool) -> Array:
    """Return the codes of a tree's tuples."""
    begin, end = forest.starts[tree], forest.starts[tree + 1]
    codes = np.empty((end - begin) * (WINDOW + 1), np.uint64)
    texts = np.zeros(end - begin, np.uint64)  # hash of each node's path from the root, as text
    powers = np.ones(end - begin, np.uint64)
    path = np.empty(end - begin + 1, np.uint8)
    used = 0
    for at in range(begin, end):
        node = at - begin
        texts[node], powers[node] = _hashed_path(forest, begin, node, unordered, operators, path)
        above, below, relation, power = forest.parents[at], at, np.uint64(0), np.uint64(1)
        for _ in range(WINDOW):
            if above < 0:
                break
            relation += np.uint64(_edge_char(forest, below, begin + above, unordered, operators)) * power
            power *= _BASE
            code = relation * powers[above] + texts[above]
            codes[used] = mixed(symbols[forest.labels[begin + above]], symbols[forest.labels[at]], code)
            used += 1
            below = begin + above
            above = forest.parents[below]
        if not _follows(forest, begin, at):
            mark = np.uint64(_DIGIT if operators else _NEXT)
            codes[used] = mixed(symbols[forest.labels[at]], END, mark * powers[node] + texts[node])
            used += 1
    return codes[:used]


@compiled
def _hashed_path(
    forest: Forest, begin: int, node: int, unordered: Array, operators: bool, path: Array
) -> tuple[np.uint64, np.uint64]:
    """Return the polynomial hash of a node's path as the original writes it, and the base to the power of its length.

    The root is `-`; a path of more than five edges is run-length coded.
    """
    if node == 0:
        return np.uint64(_ROOT), _BASE
    length, at = 0, node
    while at > 0:
        above = forest.parents[begin + at]
        path[length] = _edge_char(forest, begin + at, begin + above, unordered, operators)
        length += 1
        at = above
    text, power = np.uint64(0), np.uint64(1)
    start = length - 1  # the first edge is the last that was found
    while start >= 0:
        stop = start
        while length > _PLAIN_PATH and stop > 0 and path[stop - 1] == path[start]:
            stop -= 1
        if length > _PLAIN_PATH:
            run = start - stop + 1
            place = 1
            while place * 10 <= run:
                place *= 10
            while place:
                text = text * _BASE + np.uint64(_DIGIT + run // place % 10)
                power *= _BASE
                place //= 10
        text = text * _BASE + np.uint64(path[start])
        power *= _BASE
        start = stop - 1
    return text, power


@compiled
def _edge_char(forest: Forest, node: int, above: int, unordered: Array, operators: bool) -> int:
    """Return the character of the edge above a node."""
    edge = edge_code(forest, node, above, unordered, operators)
    if not operators:
        return int(_LAYOUT_EDGES[edge])
    return edge + (_DIGIT if edge < 10 else 55 if edge < 36 else 61)  # 0-9, A-Z, a-z


@compiled
def _follows(forest: Forest, begin: int, at: int) -> bool:
    """Return whether something follows a node: on the baseline, or as first operand."""
    below = forest.firsts[at]
    while below >= 0:
        if forest.slots[begin + below] == 0:
            return True
        below = forest.nexts[begin + below]
    return False
