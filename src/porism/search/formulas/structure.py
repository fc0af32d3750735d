"""Structural similarity: the largest common substructure of two operator trees under consistent renaming, compiled.

After Approach Zero (Zhong and Zanibbi, ECIR 2019). For a node of the query and a node of a formula, count the paths that reach both
through the same classes of operators, each weighted by its inverse path frequency: this is the common structure below the two nodes.
Within it each symbol of the query is mapped to one symbol of the formula, the one it shares most paths with. Equal symbols count
fully, different ones a little.

score = (common structure / whole query) x (MIX + (1 - MIX) x symbol agreement) x size of the query / size of the formula (damped).
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.index.analysis.features import Features
from porism.index.analysis.flat import MAX_NODES
from porism.index.analysis.paths import MAX_STEPS
from porism.index.protocols import FormulaStore, PathRows

Array = npt.NDArray[Any]
OTHER_SYMBOL = 0.1  # weight of a path in the symbol agreement when the symbols at its end differ
MIX = 0.4
SIZE = 0.6  # share of the score that depends on the size of the formula
NEARLY = 0.6  # common structures smaller than this share of the largest one are not examined for symbols
MAX_SYMBOLS = 256
EMPTY = -1
MAX_PATHS = MAX_NODES * (MAX_STEPS + 1)  # of one formula


class PathGroups(NamedTuple):
    """The paths of a query, grouped by key and upper end for the kernel.

    `slots` and `slot_keys` are a hash table from path keys to indices of keys. The groups of key i are those from `key_starts[i]`
    to `key_starts[i + 1]`. A group has an upper node, a width (its number of paths), and symbols with counts from
    `symbol_starts[group]` to `symbol_starts[group + 1]`.
    """

    slots: npt.NDArray[np.int32]
    slot_keys: npt.NDArray[np.uint32]
    idf: npt.NDArray[np.float64]
    key_starts: npt.NDArray[np.int32]
    nodes: npt.NDArray[np.int32]
    widths: npt.NDArray[np.int32]
    symbol_starts: npt.NDArray[np.int32]
    symbols: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    node_weight: npt.NDArray[np.float64]  # of all paths below each upper node
    symbol_weight: npt.NDArray[np.float64]
    symbol_label: npt.NDArray[np.int32]
    full_agreement: npt.NDArray[np.float64]  # of each upper node, when every symbol finds itself


def group_paths(query: Features, labels: list[int], weights: list[float], store: FormulaStore) -> PathGroups:
    """Group the paths of a query whose nodes have these label ids and weights."""
    groups: dict[int, dict[int, Counter[int]]] = {}
    nodes: dict[int, int] = {}
    frequency: Counter[int] = Counter()
    for above, key, below in zip(
        query.tree_paths.above.tolist(), query.tree_paths.keys.tolist(), query.tree_paths.below.tolist(), strict=True
    ):
        node = nodes.setdefault(above, len(nodes))
        groups.setdefault(key, {}).setdefault(node, Counter())[labels[below]] += 1
        frequency[labels[below]] += 1
    # The most frequent symbol chooses its partner first.
    by_frequency = sorted(frequency.items(), key=lambda item: (-item[1], item[0]))
    order = {label: at for at, (label, _) in enumerate(by_frequency)}
    weight_of = dict(zip(labels, weights, strict=True))
    symbol_weight = np.array([weight_of[label] for label in order])
    return _columns(groups, len(nodes), order, symbol_weight, store)


def _columns(
    groups: dict[int, dict[int, Counter[int]]],
    nodes: int,
    order: dict[int, int],
    symbol_weight: npt.NDArray[np.float64],
    store: FormulaStore,
) -> PathGroups:
    """Turn groups (key -> upper node -> symbol counts) into columns; `order` numbers the symbols."""
    keys = np.array(list(groups), np.uint32)
    idf = store.inverse_path_frequency(keys)
    node_weight, agreement = np.zeros(nodes), np.zeros(nodes)
    rows: list[tuple[int, int]] = []
    key_starts, symbol_starts, symbols, counts = [0], [0], [], []
    for key_idf, by_node in zip(idf.tolist(), groups.values(), strict=True):
        for node, ends in by_node.items():
            width = sum(ends.values())
            rows.append((node, width))
            node_weight[node] += width * key_idf
            for label, count in ends.items():
                symbols.append(order[label])
                counts.append(count)
                agreement[node] += count * symbol_weight[order[label]]
            symbol_starts.append(len(symbols))
        key_starts.append(len(rows))
    slots, slot_keys = _hash_table(keys)
    columns = np.array(rows, np.int32).reshape(-1, 2)
    return PathGroups(
        slots,
        slot_keys,
        idf,
        np.array(key_starts, np.int32),
        columns[:, 0].copy(),
        columns[:, 1].copy(),
        np.array(symbol_starts, np.int32),
        np.array(symbols, np.int32),
        np.array(counts, np.int32),
        node_weight,
        symbol_weight,
        np.array(list(order), np.int32),
        np.maximum(agreement, 1e-9),  # a query of wildcards alone has no symbol to agree on
    )


def _hash_table(keys: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint32]]:
    """Build a hash table with open addressing, at most a quarter full; its size is a power of two."""
    size = 1 << max(4, (4 * len(keys)).bit_length())
    slots, slot_keys = np.full(size, EMPTY, np.int32), np.zeros(size, np.uint32)
    for index, key in enumerate(keys.tolist()):
        at = key & (size - 1)
        while slots[at] != EMPTY:
            at = (at + 1) & (size - 1)
        slots[at], slot_keys[at] = index, key
    return slots, slot_keys


def structure_scores(query: PathGroups, leaves: int, candidates: PathRows) -> npt.NDArray[np.float64]:
    """Return the structural score of each candidate for a query with this number of leaves."""
    scores = np.zeros(len(candidates.starts))
    score_batch(query, candidates, scores)
    scores *= _size_factor(candidates.leaves) / _size_factor(np.array([leaves]))
    return scores


def _size_factor(leaves: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
    sizes: npt.NDArray[np.float64] = np.log1p(np.maximum(leaves, 1))
    return 1 - SIZE + SIZE / sizes


@compiled
def score_batch(query: PathGroups, candidates: PathRows, out: Array) -> None:
    """Write the score of every candidate, size aside, into `out`."""
    shared = np.zeros(len(query.node_weight))
    cells = np.zeros((len(query.symbol_weight), MAX_SYMBOLS))
    present = np.empty(MAX_SYMBOLS, np.int32)
    key_index = np.empty(MAX_PATHS, np.int32)
    for at in range(len(out)):
        start, end = candidates.starts[at], candidates.ends[at]
        out[at] = score_paths(query, candidates, start, end, shared, cells, present, key_index)


@compiled
def score_paths(
    query: PathGroups, paths: PathRows, start: int, end: int, shared: Array, cells: Array, present: Array,
    key_index: Array,
) -> float:  # fmt: skip
    """Return the score of the best pair of a query node and a node of the formula whose paths run from `start` to `end`."""
    above, keys = paths.above, paths.keys
    whole = 0.0
    for weight in query.node_weight:  # a loop: numba's `max` of an array would import SciPy
        whole = max(whole, weight)
    best = largest = 0.0
    first = start
    while first < end:
        last = first
        while last < end and above[last] == above[first]:
            run = last
            key = keys[last]
            while last < end and above[last] == above[first] and keys[last] == key:
                last += 1
            index = find_key(query.slots, query.slot_keys, key)
            key_index[run - start] = index
            if index >= 0:
                for group in range(query.key_starts[index], query.key_starts[index + 1]):
                    shared[query.nodes[group]] += min(last - run, query.widths[group]) * query.idf[index]
        for node in range(len(shared)):
            common = shared[node]
            shared[node] = 0.0
            # Symbol agreement can only lower a score: skip what cannot become the best.
            if common <= 0 or common / whole <= best or common < NEARLY * largest:
                continue
            largest = max(largest, common)
            agreed = symbol_agreement(query, paths, node, first, last, start, key_index, cells, present)
            best = max(best, common / whole * (MIX + (1 - MIX) * (agreed / query.full_agreement[node])))
        first = last
    return best


@compiled
def find_key(slots: Array, slot_keys: Array, key: int) -> int:
    """Return the index of a path key in the query, or EMPTY."""
    mask = len(slots) - 1
    at = key & np.uint32(mask)
    while slots[at] != EMPTY:
        if slot_keys[at] == key:
            return int(slots[at])
        at = np.uint32((at + 1) & mask)
    return EMPTY


@compiled
def symbol_agreement(
    query: PathGroups, paths: PathRows, node: int, first: int, last: int, start: int, key_index: Array, cells: Array,
    present: Array,
) -> float:  # fmt: skip
    """Return the weight of the paths on which symbols agree when each symbol of the query is mapped to one of the formula."""
    size = 0
    run = first
    while run < last:
        end = run
        while end < last and paths.keys[end] == paths.keys[run]:
            end += 1
        index = key_index[run - start]
        if index >= 0:
            for group in range(query.key_starts[index], query.key_starts[index + 1]):
                if query.nodes[group] == node:
                    size = add_shared(query, paths.labels, group, run, end, cells, present, size)
        run = end
    return assign_symbols(cells, size)


@compiled
def add_shared(
    query: PathGroups, labels: Array, group: int, run: int, end: int, cells: Array, present: Array, size: int
) -> int:
    """Add the paths that a query group shares with the paths from `run` to `end`, for each pair of symbols; return the number of columns."""
    while run < end:
        label = labels[run]
        next_run = run
        while next_run < end and labels[next_run] == label:
            next_run += 1
        column = 0
        while column < size and present[column] != label:
            column += 1
        if column == size and size < MAX_SYMBOLS:
            present[size] = label
            cells[:, size] = 0.0
            size += 1
        if column < size:
            for at in range(query.symbol_starts[group], query.symbol_starts[group + 1]):
                symbol = query.symbols[at]
                same = 1.0 if query.symbol_label[symbol] == label else OTHER_SYMBOL
                cells[symbol, column] += min(next_run - run, query.counts[at]) * same * query.symbol_weight[symbol]
        run = next_run
    return size


@compiled
def assign_symbols(cells: Array, size: int) -> float:
    """Give each symbol in turn the free partner with the largest cell; return the sum of these cells."""
    total = 0.0
    for symbol in range(len(cells)):
        best = 0.0
        partner = -1
        for column in range(size):
            if cells[symbol, column] > best:
                best = cells[symbol, column]
                partner = column
        if partner >= 0:
            total += best
            for other in range(len(cells)):
                cells[other, partner] = 0.0
    return total
