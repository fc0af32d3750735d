"""The structure score of Approach Zero: how well the paths of each indexed formula match those of a query formula.

For a node of the query and a node of a formula, the matching paths are counted with their inverse path frequency. The
pair with the highest sum represents the formula; its symbols are then compared. Constants are those of the released
program (pya0 0.3.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from porism.compiled import compiled
from porism.systems.approach0.formula_index import MAX_LEAVES, FormulaPaths, PathIndex, PathWriter, read_paths
from porism.systems.arrays import Floats, Ints, Small


@dataclass(frozen=True, slots=True)
class StructureOptions:
    """Constants of the score: the weight of formulas, the share of the formula that leads, the weight of length, the
    value of an equal symbol under other operators, and that of another symbol."""

    weight: float = 2.5
    leading: float = 0.98
    length: float = 0.3
    same_symbol: float = 0.94
    other_symbol: float = 0.90


class QueryPaths(NamedTuple):
    """The path groups of a query formula as arrays; groups of one node follow one another."""

    node_starts: Ints
    keys: Ints  # positions in `PathIndex.key_values`; -1 for a key that no formula has
    hashes: Ints
    operators: Ints
    widths: Small
    symbol_starts: Ints
    symbols: Small  # positions in the query's own list of symbols
    counts: Small
    codes: Small  # the code of each of them in the index; -1 for a symbol that no formula has


class StructureScores(NamedTuple):
    """For every formula its score, the sum of matching paths, and the similarity of symbols, or zeros."""

    score: Floats
    matched: Floats
    symbols: Floats


@dataclass(frozen=True)
class StructureSearch:
    """Scores formulas against a query. `occurrences` says how often each formula is in the documents of the task."""

    index: PathIndex
    occurrences: Ints
    options: StructureOptions = StructureOptions()

    @cached_property
    def ipf(self) -> Floats:
        """Inverse path frequency of each key."""
        per_group = self.occurrences[self.index.node_formulas[self.index.group_nodes]].astype(np.float64)
        sums = np.append(0.0, np.cumsum(per_group[self.index.by_key]))
        frequencies = sums[self.index.key_starts[1:]] - sums[self.index.key_starts[:-1]]
        total = float(per_group.sum())
        known = np.divide(total, frequencies, out=np.ones_like(frequencies), where=frequencies > 0)
        return np.asarray(np.log(known), np.float64)

    def scores(self, latex: str) -> StructureScores:
        """Return the scores of all formulas for a query formula; zeros where the query cannot be read."""
        size = len(self.index.leaves)
        query = self._query(latex)
        if query is None or not len(self.index.group_nodes):
            return StructureScores(np.zeros(size), np.zeros(size), np.zeros(size))
        index = self.index
        matched, query_nodes, nodes = best_pairs(
            query, self.ipf, index.key_starts, index.by_key, index.widths, index.group_nodes, index.node_formulas, size
        )
        similar = symbol_similarity(
            query, query_nodes, nodes, index.node_starts, index.keys, index.operators, index.symbol_starts,
            index.symbols, index.counts, self.options.same_symbol, self.options.other_symbol,
        )  # fmt: skip
        leaves = np.maximum(index.leaves, 1)
        penalty = 1 / (1 + (1 - similar) ** 2)
        length = (1 - self.options.length) + self.options.length / np.log(1 + leaves)
        return StructureScores(matched * penalty * length, matched, similar)

    def weights(self, formulas: Sequence[str]) -> list[float]:
        """Return the weight of each formula of a query: that with the highest bound leads, the others count little."""
        bounds = [self.upper_bound(latex) for latex in formulas]
        first = int(np.argmax(bounds)) if bounds else 0
        weight, leading = self.options.weight, self.options.leading
        return [weight * (leading if place == first else 1 - leading) for place in range(len(bounds))]

    def upper_bound(self, latex: str) -> float:
        """Return the highest score that a formula could have: all paths of the best node of the query match."""
        query = self._query(latex)
        if query is None:
            return 0.0
        ipf = np.where(query.keys >= 0, self.ipf[query.keys], 0.0) if len(self.ipf) else np.zeros(len(query.keys))
        sums = np.append(0.0, np.cumsum(ipf * query.widths))
        return float((sums[query.node_starts[1:]] - sums[query.node_starts[:-1]]).max(initial=0.0))

    def _query(self, latex: str) -> QueryPaths | None:
        paths = read_paths(latex, is_query=True)
        return None if paths is None or not paths.groups else encode_query(paths, self.index)


def encode_query(paths: FormulaPaths, index: PathIndex) -> QueryPaths:
    """Return the path groups of a query as arrays, with the codes of an index."""
    writer = PathWriter()
    writer.add(paths)
    own = writer.index()
    places = np.searchsorted(index.key_values, own.keys)
    known = places < len(index.key_values)
    known[known] = index.key_values[places[known]] == own.keys[known]
    keys = np.where(known, places, -1).astype(np.int64)
    codes = np.array([index.codes.get(symbol, -1) for symbol in own.codes], np.int32)
    return QueryPaths(
        own.node_starts, keys, own.keys, own.operators, own.widths, own.symbol_starts, own.symbols, own.counts, codes
    )


@compiled
def best_pairs(
    query: QueryPaths, ipf: Floats, key_starts: Ints, by_key: Small, widths: Small, group_nodes: Small,
    node_formulas: Small, size: int,
) -> tuple[Floats, Small, Small]:  # fmt: skip
    """Return every formula's highest sum of matching paths, and the nodes of the query and the formula that have it."""
    best = np.zeros(size)
    query_nodes = np.full(size, -1, np.int32)
    nodes = np.full(size, -1, np.int32)
    sums = np.zeros(len(node_formulas))
    for node in range(len(query.node_starts) - 1):
        for group in range(query.node_starts[node], query.node_starts[node + 1]):
            key = query.keys[group]
            if key < 0:
                continue
            for posting in range(key_starts[key], key_starts[key + 1]):
                other = by_key[posting]
                sums[group_nodes[other]] += min(query.widths[group], widths[other]) * ipf[key]
        for group in range(query.node_starts[node], query.node_starts[node + 1]):
            key = query.keys[group]
            if key < 0:
                continue
            for posting in range(key_starts[key], key_starts[key + 1]):
                place = group_nodes[by_key[posting]]
                formula = node_formulas[place]
                if sums[place] > best[formula] + 1e-9:
                    best[formula] = sums[place]
                    query_nodes[formula] = node
                    nodes[formula] = place
                sums[place] = 0.0
    return best, query_nodes, nodes


@compiled
def symbol_similarity(
    query: QueryPaths, query_nodes: Small, nodes: Small, node_starts: Ints, keys: Ints, operators: Ints,
    symbol_starts: Ints, symbols: Small, counts: Small, same_symbol: float, other_symbol: float,
) -> Floats:  # fmt: skip
    """Return the share of the query's paths whose symbols match, where each symbol takes one of the formula."""
    result = np.zeros(len(nodes))
    size = len(query.codes)
    cells = np.zeros((size, MAX_LEAVES))
    seen = np.zeros(MAX_LEAVES, np.int32)
    weights = np.zeros(size)
    for formula in range(len(nodes)):
        if nodes[formula] < 0:
            continue
        node = query_nodes[formula]
        cells[:] = 0.0
        weights[:] = 0.0
        total = 0.0
        number = 0
        for group in range(query.node_starts[node], query.node_starts[node + 1]):
            total += query.widths[group]
            for one in range(query.symbol_starts[group], query.symbol_starts[group + 1]):
                weights[query.symbols[one]] += query.counts[one]
            for other in range(node_starts[nodes[formula]], node_starts[nodes[formula] + 1]):
                if keys[other] != query.hashes[group]:
                    continue
                equal = operators[other] == query.operators[group]
                for two in range(symbol_starts[other], symbol_starts[other + 1]):
                    column = 0
                    while column < number and seen[column] != symbols[two]:
                        column += 1
                    if column == number:
                        seen[number] = symbols[two]
                        number += 1
                    for one in range(query.symbol_starts[group], query.symbol_starts[group + 1]):
                        row = query.symbols[one]
                        value = other_symbol
                        if query.codes[row] == symbols[two]:
                            value = 1.0 if equal else same_symbol
                        cells[row, column] += min(query.counts[one], counts[two]) * value
        result[formula] = _assigned(cells, weights, number) / total
    return result


@compiled
def _assigned(cells: Floats, weights: Floats, number: int) -> float:
    """Let each symbol, those with most paths first, take the free symbol that fits best; return the sum."""
    total = 0.0
    for row in np.argsort(-weights, kind="mergesort"):
        best = -1
        for column in range(number):
            if cells[row, column] > 0 and (best < 0 or cells[row, column] > cells[row, best]):
                best = column
        if best >= 0:
            total += cells[row, best]
            cells[:, best] = 0.0
    return total
