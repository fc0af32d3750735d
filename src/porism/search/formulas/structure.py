"""Structural similarity: the largest common substructure of two operator trees under consistent renaming, compiled.

After Approach Zero (Zhong and Zanibbi, ECIR 2019). For a node of the query and a node of a formula, count the paths
that reach both through the same classes of operators, each weighted by its inverse path frequency: this is the common
structure below the two nodes. Within it each symbol of the query is mapped to one symbol of the formula, the one it
shares most paths with. Equal symbols count fully, different ones a little.

score = (common structure / whole query) x (MIX + (1 - MIX) x symbol agreement) x size of the query / size of the
formula (damped)."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.features import MAX_NODES, Features
from porism.analysis.paths import MAX_STEPS
from porism.compiled import compiled
from porism.store.protocols import SymbolTable
from porism.store.records import PathRows

EMPTY = -1


class PathGroups(NamedTuple):
    """The paths of a query, grouped by key and upper end for the kernel.

    `slots` and `slot_keys` are a hash table from path keys to indices of keys. The groups of key i are those from
    `key_starts[i]` to `key_starts[i + 1]`. A group has an upper node, a width (its number of paths), and symbols with
    counts from `symbol_starts[group]` to `symbol_starts[group + 1]`."""

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
    most_agreement: npt.NDArray[np.float64]  # that one path of each group can have


def group_paths(query: Features, labels: list[int], weights: list[float], table: SymbolTable) -> PathGroups:
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
    weight_of = dict(zip(labels, weights, strict=True))
    # The most frequent symbol chooses its partner first. Of equals it is the one with the smaller id: other orders rank
    # no better.
    order = {label: at for at, label in enumerate(sorted(frequency, key=lambda one: (-frequency[one], one)))}
    symbol_weight = np.array([weight_of[label] for label in order])
    return _columns(groups, len(nodes), order, symbol_weight, table)


def _columns(
    groups: dict[int, dict[int, Counter[int]]],
    nodes: int,
    order: dict[int, int],
    symbol_weight: npt.NDArray[np.float64],
    table: SymbolTable,
) -> PathGroups:
    """Turn groups (key -> upper node -> symbol counts) into columns; `order` numbers the symbols."""
    keys = np.array(list(groups), np.uint32)
    idf = table.inverse_path_frequency(keys)
    node_weight, agreement = np.zeros(nodes), np.zeros(nodes)
    rows: list[tuple[int, int]] = []
    key_starts, symbol_starts, symbols, counts = [0], [0], [], []
    most_agreement: list[float] = []
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
            most_agreement.append(max(symbol_weight[order[label]] for label in ends))
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
        np.array(most_agreement, np.float64),
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


Array = npt.NDArray[Any]
OTHER_SYMBOL = 0.1  # weight of a path in the symbol agreement when the symbols at its end differ
MIX = 0.4
SIZE = 0.6  # share of the score that depends on the size of the formula
NEARLY = 0.6  # common structures smaller than this share of the largest one are not examined for symbols
MAX_SYMBOLS = 256
MAX_PATHS = MAX_NODES * (MAX_STEPS + 1)  # of one formula


def structure_scores(query: PathGroups, leaves: int, candidates: PathRows) -> npt.NDArray[np.float64]:
    """Return the structural score of each candidate for a query with this number of leaves."""
    scores = np.zeros(len(candidates.starts))
    score_batch(query, candidates, scores)
    scores *= _size_factor(candidates.leaves) / _size_factor(np.array([leaves]))
    return scores


def _size_factor(leaves: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
    sizes: npt.NDArray[np.float64] = np.log1p(np.maximum(leaves, 1))
    return 1 - SIZE + SIZE / sizes


class _Buffers(NamedTuple):
    """Working buffers of the kernel: the common structure with each node of the query and the agreement that it allows
    at most, the nodes that have one, the paths of each pair of symbols (one row for each symbol of the formula), the
    symbols of the formula, the index of each path's key, and the pairs of nodes that may be the best ones, with their
    common structure and the largest score that they can have."""

    shared: Array
    allowed: Array
    touched: Array
    cells: Array
    present: Array
    key_index: Array
    pairs: Array
    pair_shared: Array
    pair_most: Array


@compiled
def score_batch(query: PathGroups, candidates: PathRows, out: Array) -> None:
    """Write the score of every candidate, size aside, into `out`."""
    nodes = len(query.node_weight)
    buffers = _Buffers(
        np.zeros(nodes),
        np.zeros(nodes),
        np.empty(nodes, np.int32),
        np.zeros((MAX_SYMBOLS, len(query.symbol_weight))),
        np.empty(MAX_SYMBOLS, np.int32),
        np.empty(MAX_PATHS, np.int32),
        np.empty((nodes * MAX_NODES, 3), np.int64),
        np.empty(nodes * MAX_NODES),
        np.empty(nodes * MAX_NODES),
    )
    whole = 0.0
    for weight in query.node_weight:  # a loop: numba's `max` of an array would import SciPy
        whole = max(whole, weight)
    for at in range(len(out)):
        start, end = candidates.starts[at], candidates.ends[at]
        number, largest = find_pairs(query, candidates, start, end, buffers)
        out[at] = best_pair(query, candidates, start, number, NEARLY * largest, buffers) / whole if number else 0.0


@compiled
def find_pairs(query: PathGroups, paths: PathRows, start: int, end: int, buffers: _Buffers) -> tuple[int, float]:
    """Write the pairs of a query node and a node of the formula (its paths from first to last) whose common structure
    is near the largest one so far. Return how many there are, and how large the largest is."""
    above, keys = paths.above, paths.keys
    shared, allowed, touched, key_index = buffers.shared, buffers.allowed, buffers.touched, buffers.key_index
    slots, slot_keys, key_starts, idf = query.slots, query.slot_keys, query.key_starts, query.idf
    nodes, widths, most_agreement = query.nodes, query.widths, query.most_agreement
    most = 0.0  # what one path can add
    for one in idf:
        most = max(most, one)
    number = 0
    largest = 0.0
    first = start
    while first < end:
        last = first + 1
        while last < end and above[last] == above[first]:
            last += 1
        if (last - first) * most < NEARLY * largest:  # as for most of the lower nodes
            first = last
            continue
        size = 0
        run = first
        while run < last:
            key = keys[run]
            next_run = run + 1
            while next_run < last and keys[next_run] == key:
                next_run += 1
            index = find_key(slots, slot_keys, key)
            key_index[run - start] = index
            if index >= 0 and idf[index] > 0.0:
                for group in range(key_starts[index], key_starts[index + 1]):
                    node = nodes[group]
                    if shared[node] == 0.0:
                        touched[size] = node
                        size += 1
                    number_shared = min(next_run - run, widths[group])
                    shared[node] += number_shared * idf[index]
                    allowed[node] += number_shared * most_agreement[group]
            run = next_run
        for at in range(size):
            node = touched[at]
            common = shared[node]
            agreement = min(1.0, allowed[node] / query.full_agreement[node])
            shared[node] = allowed[node] = 0.0
            if common >= NEARLY * largest:
                largest = max(largest, common)
                buffers.pairs[number, 0], buffers.pairs[number, 1], buffers.pairs[number, 2] = node, first, last
                buffers.pair_shared[number] = common
                buffers.pair_most[number] = common * (MIX + (1 - MIX) * agreement)
                number += 1
        first = last
    return number, largest


@compiled
def best_pair(query: PathGroups, paths: PathRows, start: int, number: int, least: float, buffers: _Buffers) -> float:
    """Return common structure x symbol agreement of the best pair with at least `least` of common structure.

    The pair that can score most is examined first, and others only while they can still score more."""
    best = 0.0
    while True:
        chosen = -1
        most = best
        for at in range(number):
            if buffers.pair_most[at] > most and buffers.pair_shared[at] >= least:
                chosen, most = at, buffers.pair_most[at]
        if chosen < 0:
            return best
        buffers.pair_most[chosen] = 0.0
        node, first, last = buffers.pairs[chosen, 0], buffers.pairs[chosen, 1], buffers.pairs[chosen, 2]
        agreed = symbol_agreement(query, paths, node, first, last, start, buffers)
        best = max(best, buffers.pair_shared[chosen] * (MIX + (1 - MIX) * (agreed / query.full_agreement[node])))


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
    query: PathGroups, paths: PathRows, node: int, first: int, last: int, start: int, buffers: _Buffers
) -> float:
    """Return the weight of the paths on which symbols agree when each query symbol is mapped to one of the formula."""
    # Names for the columns: taking one out of its tuple costs more than using it.
    keys, key_index, key_starts, nodes = paths.keys, buffers.key_index, query.key_starts, query.nodes
    labels, cells, present = paths.labels, buffers.cells, buffers.present
    size = 0
    run = first
    while run < last:
        end = run + 1
        while end < last and keys[end] == keys[run]:
            end += 1
        index = key_index[run - start]
        if index >= 0:
            for group in range(key_starts[index], key_starts[index + 1]):
                if nodes[group] == node:
                    size = add_shared(
                        query.symbol_starts, query.symbols, query.counts, query.symbol_label, query.symbol_weight,
                        labels, group, run, end, cells, present, size,
                    )  # fmt: skip
                    break
        run = end
    return assign_symbols(cells, size)


@compiled
def add_shared(
    symbol_starts: Array, symbols: Array, counts: Array, symbol_label: Array, symbol_weight: Array, labels: Array,
    group: int, run: int, end: int, cells: Array, present: Array, size: int,
) -> int:  # fmt: skip
    """Add the shared paths of a query group and the span, for each pair of symbols; return the number of columns."""
    while run < end:
        label = labels[run]
        next_run = run + 1
        while next_run < end and labels[next_run] == label:
            next_run += 1
        column = 0
        while column < size and present[column] != label:
            column += 1
        if column == size and size < MAX_SYMBOLS:
            present[size] = label
            for symbol in range(cells.shape[1]):
                cells[size, symbol] = 0.0
            size += 1
        if column < size:
            for at in range(symbol_starts[group], symbol_starts[group + 1]):
                symbol = symbols[at]
                same = 1.0 if symbol_label[symbol] == label else OTHER_SYMBOL
                cells[column, symbol] += min(next_run - run, counts[at]) * same * symbol_weight[symbol]
        run = next_run
    return size


@compiled
def assign_symbols(cells: Array, size: int) -> float:
    """Give each symbol in turn the free partner with the largest cell; return the sum of these cells."""
    total = 0.0
    for symbol in range(cells.shape[1]):
        best = 0.0
        partner = -1
        for column in range(size):
            if cells[column, symbol] > best:
                best = cells[column, symbol]
                partner = column
        if partner >= 0:
            total += best
            for other in range(symbol + 1, cells.shape[1]):
                cells[partner, other] = 0.0
    return total
