"""The largest common part of two operator trees, with consistent renaming: a structural score, compiled.

After Approach Zero (Zhong and Zanibbi, ECIR 2019). For a node of the query and a node of a formula, the paths that reach both by the
same classes of operators are counted, each by its rarity: the common part below the two nodes. Within it each symbol of the query
takes one symbol of the formula, the one it shares most paths with; equal symbols count fully, others a little.
score = (common part / whole query) x (MIX + (1 - MIX) x symbol agreement) x size of the query / size of the formula (damped).
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
from porism.index.formulas.store import FormulaStore

Array = npt.NDArray[Any]
OTHER_SYMBOL = 0.1  # what a path is worth for the agreement when the symbols at its end differ
MIX = 0.4
SIZE = 0.6  # how much of the score depends on the size of the formula
NEARLY = 0.6  # common parts smaller than this share of the largest one are not looked at for symbols
MAX_SYMBOLS = 256
EMPTY = -1
ROOM = MAX_NODES * (MAX_STEPS + 1)  # no formula has more paths


class Sectors(NamedTuple):
    """The paths of a query, grouped for the kernel.

    `slots` and `slot_keys` are a hash table from path keys to numbers of keys; a key's groups are those from `key_at[number]` to
    `key_at[number + 1]`; a group has a node, a width, and symbols with counts from `symbols_at`.
    """

    slots: npt.NDArray[np.int32]
    slot_keys: npt.NDArray[np.uint32]
    rarity: npt.NDArray[np.float64]
    key_at: npt.NDArray[np.int32]
    nodes: npt.NDArray[np.int32]
    widths: npt.NDArray[np.int32]
    symbols_at: npt.NDArray[np.int32]
    symbols: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    whole: npt.NDArray[np.float64]
    symbol_weight: npt.NDArray[np.float64]
    symbol_label: npt.NDArray[np.int32]
    agreement: npt.NDArray[np.float64]


def sectors(query: Features, labels: list[int], weights: list[float], store: FormulaStore) -> Sectors:
    """Group the paths of a query whose nodes have these labels (numbers of the store) and weights."""
    groups: dict[int, dict[int, Counter[int]]] = {}
    nodes: dict[int, int] = {}
    often: Counter[int] = Counter()
    for above, key, below in zip(
        query.ways.above.tolist(), query.ways.keys.tolist(), query.ways.below.tolist(), strict=True
    ):
        node = nodes.setdefault(above, len(nodes))
        groups.setdefault(key, {}).setdefault(node, Counter())[labels[below]] += 1
        often[labels[below]] += 1
    # The commonest symbol chooses its partner first.
    order = {label: at for at, (label, _) in enumerate(sorted(often.items(), key=lambda item: (-item[1], item[0])))}
    weight_of = dict(zip(labels, weights, strict=True))
    symbol_weight = np.array([weight_of[label] for label in order])
    keys = np.array(list(groups), np.uint32)
    rarity = store.rarity(keys)
    whole, agreement = np.zeros(len(nodes)), np.zeros(len(nodes))
    rows: list[tuple[int, int]] = []
    key_at, symbols_at, symbols, counts = [0], [0], [], []
    for rare, by_node in zip(rarity.tolist(), groups.values(), strict=True):
        for node, ends in by_node.items():
            width = sum(ends.values())
            rows.append((node, width))
            whole[node] += width * rare
            for label, count in ends.items():
                symbols.append(order[label])
                counts.append(count)
                agreement[node] += count * symbol_weight[order[label]]
            symbols_at.append(len(symbols))
        key_at.append(len(rows))
    slots, slot_keys = _table(keys)
    found = np.array(rows, np.int32).reshape(-1, 2)
    return Sectors(
        slots,
        slot_keys,
        rarity,
        np.array(key_at, np.int32),
        found[:, 0].copy(),
        found[:, 1].copy(),
        np.array(symbols_at, np.int32),
        np.array(symbols, np.int32),
        np.array(counts, np.int32),
        whole,
        symbol_weight,
        np.array(list(order), np.int32),
        np.maximum(agreement, 1e-9),  # a query of wildcards alone has no symbol to agree on
    )


def _table(keys: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint32]]:
    """A hash table with open addressing, at most a quarter full; its size is a power of two."""
    size = 1 << max(4, (4 * len(keys)).bit_length())
    slots, slot_keys = np.full(size, EMPTY, np.int32), np.zeros(size, np.uint32)
    for number, key in enumerate(keys.tolist()):
        at = key & (size - 1)
        while slots[at] != EMPTY:
            at = (at + 1) & (size - 1)
        slots[at], slot_keys[at] = number, key
    return slots, slot_keys


class Common(NamedTuple):
    """For each wanted formula: the score, and the upper ends of the best common part (query's group of paths, formula's node)."""

    scores: npt.NDArray[np.float64]
    query_nodes: npt.NDArray[np.int32]
    nodes: npt.NDArray[np.int32]


class PathRows(NamedTuple):
    """The paths of all formulas as columns: where those of each end, upper ends, keys, labels at the lower ends."""

    ends: npt.NDArray[np.int64]
    above: npt.NDArray[np.uint8]
    keys: npt.NDArray[np.uint32]
    labels: npt.NDArray[np.int32]


def common_parts(query: Sectors, leaves: int, store: FormulaStore, wanted: npt.NDArray[np.int64]) -> Common:
    """The structural score of the query, which has so many leaves, against each wanted formula."""
    count = len(wanted)
    found = Common(np.zeros(count), np.full(count, -1, np.int32), np.full(count, -1, np.int32))
    columns = store.columns
    rows = PathRows(columns["path_at"], columns["path_above"], columns["path_key"], columns["path_label"])
    compare_rows(query, rows, wanted, found)
    found.scores[:] *= _size(columns["leaves"][wanted]) / _size(np.array([leaves]))
    return found


def _size(leaves: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
    sizes: npt.NDArray[np.float64] = np.log1p(np.maximum(leaves, 1))
    return 1 - SIZE + SIZE / sizes


@compiled
def compare_rows(query: Sectors, rows: PathRows, wanted: Array, out: Common) -> None:
    """Fill `out` for the wanted rows."""
    common = np.zeros(len(query.whole))
    cells = np.zeros((len(query.symbol_weight), MAX_SYMBOLS))
    present = np.empty(MAX_SYMBOLS, np.int32)
    number_of = np.empty(ROOM, np.int32)
    for at in range(len(wanted)):
        row = wanted[at]
        start = rows.ends[row - 1] if row > 0 else 0
        compare(query, rows, start, rows.ends[row], common, cells, present, number_of, out, at)


@compiled
def compare(
    query: Sectors, rows: PathRows, start: int, stop: int, common: Array, cells: Array, present: Array, number_of: Array,
    out: Common, at: int,
) -> None:  # fmt: skip
    """The best common part of the query and the formula whose paths run from `start` to `stop`."""
    above, keys = rows.above, rows.keys
    largest = query.whole.max()
    top = 0.0
    first = start
    while first < stop:
        last = first
        while last < stop and above[last] == above[first]:
            run = last
            key = keys[last]
            while last < stop and above[last] == above[first] and keys[last] == key:
                last += 1
            found = look_up(query.slots, query.slot_keys, key)
            number_of[run - start] = found
            if found >= 0:
                for group in range(query.key_at[found], query.key_at[found + 1]):
                    common[query.nodes[group]] += min(last - run, query.widths[group]) * query.rarity[found]
        for node in range(len(common)):
            part = common[node]
            common[node] = 0.0
            # The symbols can only lower a score: what cannot become the best is not looked at.
            if part <= 0 or part / largest <= out.scores[at] or part < NEARLY * top:
                continue
            top = max(top, part)
            agreed = agree(query, rows, node, first, last, start, number_of, cells, present) / query.agreement[node]
            score = part / largest * (MIX + (1 - MIX) * agreed)
            if score > out.scores[at]:
                out.scores[at] = score
                out.query_nodes[at] = node
                out.nodes[at] = above[first]
        first = last


@compiled
def look_up(slots: Array, slot_keys: Array, key: int) -> int:
    """The number of a path key in the query, or EMPTY."""
    mask = len(slots) - 1
    at = key & np.uint32(mask)
    while slots[at] != EMPTY:
        if slot_keys[at] == key:
            return int(slots[at])
        at = np.uint32((at + 1) & mask)
    return EMPTY


@compiled
def agree(
    query: Sectors, rows: PathRows, node: int, first: int, last: int, start: int, number_of: Array, cells: Array,
    present: Array,
) -> float:  # fmt: skip
    """The weight of the paths on which symbols agree when each symbol of the query takes one of the formula."""
    size = 0
    run = first
    while run < last:
        stop = run
        while stop < last and rows.keys[stop] == rows.keys[run]:
            stop += 1
        found = number_of[run - start]
        if found >= 0:
            for group in range(query.key_at[found], query.key_at[found + 1]):
                if query.nodes[group] == node:
                    size = fill(query, rows.labels, group, run, stop, cells, present, size)
        run = stop
    return partners(cells, size)


@compiled
def fill(
    query: Sectors, labels: Array, group: int, run: int, stop: int, cells: Array, present: Array, size: int
) -> int:
    """Add what a group of paths of the query shares with those of the formula from `run` to `stop`, for each pair of symbols."""
    while run < stop:
        label = labels[run]
        many = run
        while many < stop and labels[many] == label:
            many += 1
        column = 0
        while column < size and present[column] != label:
            column += 1
        if column == size and size < MAX_SYMBOLS:
            present[size] = label
            cells[:, size] = 0.0
            size += 1
        if column < size:
            for at in range(query.symbols_at[group], query.symbols_at[group + 1]):
                symbol = query.symbols[at]
                same = 1.0 if query.symbol_label[symbol] == label else OTHER_SYMBOL
                cells[symbol, column] += min(many - run, query.counts[at]) * same * query.symbol_weight[symbol]
        run = many
    return size


@compiled
def partners(cells: Array, size: int) -> float:
    """Symbols in order take the free partner with the largest cell; the sum of the cells taken."""
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
