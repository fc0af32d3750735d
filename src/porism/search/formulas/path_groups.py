"""The paths of a query, grouped by key and upper end, as the structural comparison reads them."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.features import Features
from porism.store.protocols import SymbolTable

EMPTY = -1


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
    # The most frequent symbol chooses its partner first; of equals the one that comes first, whose ids a store does not decide.
    order = {label: at for at, (label, _) in enumerate(frequency.most_common())}
    weight_of = dict(zip(labels, weights, strict=True))
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
