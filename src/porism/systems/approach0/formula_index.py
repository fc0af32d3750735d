"""The path groups of all distinct formulas of a collection, in arrays that are mapped when opened.

Groups are in the order of formulas and, inside a formula, of root nodes. `by_key` lists them in the order of keys: the posting lists.
Statistics (pf and N) depend on the documents of a task, so they are computed from the number of occurrences of each formula.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.hashing import hash64
from porism.systems.approach0.grammar import parse
from porism.systems.approach0.lexer import UnreadableFormula
from porism.systems.approach0.paths import FormulaPaths, PathGroup, formula_paths
from porism.systems.lexical.stored_arrays import open_arrays, save_arrays

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
ARRAYS = (
    "leaves",
    "node_formulas",
    "node_starts",
    "keys",
    "operators",
    "widths",
    "symbol_starts",
    "symbols",
    "counts",
    "by_key",
    "key_values",
    "key_starts",
)


@dataclass(frozen=True)
class PathIndex:
    """Path groups of formulas.

    Formula f has `leaves[f]` paths (0 where it cannot be read). Node n belongs to formula `node_formulas[n]`, its groups are
    node_starts[n] to node_starts[n + 1]. A group has the hash of its key, a hash of its operators, its width, and its symbols with counts from
    symbol_starts[g] to symbol_starts[g + 1]. The groups of key_values[i] are by_key[key_starts[i]:key_starts[i + 1]].
    """

    symbol_codes: dict[str, int]
    leaves: Small
    node_formulas: Small
    node_starts: Ints
    keys: Ints
    operators: Ints
    widths: Small
    symbol_starts: Ints
    symbols: Small
    counts: Small
    by_key: Small
    key_values: Ints
    key_starts: Ints

    @property
    def group_nodes(self) -> Small:
        """The node of each group."""
        return np.repeat(np.arange(len(self.node_formulas), dtype=np.int32), np.diff(self.node_starts))

    def save(self, folder: Path) -> None:
        """Write the index into a folder."""
        save_arrays(self, ARRAYS, self.symbol_codes, folder)

    @classmethod
    def open(cls, folder: Path) -> PathIndex:
        """Open an index; its arrays are mapped, not read."""
        codes, arrays = open_arrays(ARRAYS, folder)
        return cls(codes, *arrays)


@dataclass
class _Writer:
    """Collects the groups of one formula after the other."""

    codes: dict[str, int] = field(default_factory=dict)
    leaves: array[int] = field(default_factory=lambda: array("i"))
    node_formulas: array[int] = field(default_factory=lambda: array("i"))
    node_sizes: array[int] = field(default_factory=lambda: array("i"))
    keys: array[int] = field(default_factory=lambda: array("q"))
    operators: array[int] = field(default_factory=lambda: array("q"))
    widths: array[int] = field(default_factory=lambda: array("i"))
    symbol_sizes: array[int] = field(default_factory=lambda: array("i"))
    symbols: array[int] = field(default_factory=lambda: array("i"))
    counts: array[int] = field(default_factory=lambda: array("i"))

    def add(self, paths: FormulaPaths | None) -> None:
        formula = len(self.leaves)
        self.leaves.append(paths.leaves if paths else 0)
        nodes: dict[int, list[PathGroup]] = {}
        for group in paths.groups if paths else ():
            nodes.setdefault(group.node, []).append(group)
        for node in sorted(nodes):
            self.node_formulas.append(formula)
            self.node_sizes.append(len(nodes[node]))
            for group in nodes[node]:
                self._add_group(group)

    def _add_group(self, group: PathGroup) -> None:
        self.keys.append(hash64(group.key))
        self.operators.append(hash64(group.operator_text))
        self.widths.append(group.width)
        self.symbol_sizes.append(len(group.symbols))
        for symbol, count in group.symbols.items():
            self.symbols.append(self.codes.setdefault(symbol, len(self.codes)))
            self.counts.append(count)

    def index(self) -> PathIndex:
        keys = np.array(self.keys, np.int64)
        by_key = np.argsort(keys, kind="stable").astype(np.int32)
        values, firsts = np.unique(keys[by_key], return_index=True)
        return PathIndex(
            self.codes,
            np.array(self.leaves, np.int32),
            np.array(self.node_formulas, np.int32),
            _starts(self.node_sizes),
            keys,
            np.array(self.operators, np.int64),
            np.array(self.widths, np.int32),
            _starts(self.symbol_sizes),
            np.array(self.symbols, np.int32),
            np.array(self.counts, np.int32),
            by_key,
            values,
            np.append(firsts, len(keys)).astype(np.int64),
        )


def _starts(sizes: Sequence[int]) -> Ints:
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(np.array(sizes, np.int64), out=starts[1:])
    return starts


def read_paths(latex: str, is_query: bool = False) -> FormulaPaths | None:
    """Return the path groups of a formula; None where it cannot be read or holds nothing."""
    try:
        tree = parse(latex)
    except (UnreadableFormula, RecursionError):
        return None
    return None if tree is None else formula_paths(tree, is_query)


def index_formulas(formulas: Iterable[str], advance: Callable[[int], None] = lambda number: None) -> PathIndex:
    """Index the path groups of formulas, in their order; `advance` is called for each."""
    writer = _Writer()
    for latex in formulas:
        writer.add(read_paths(latex))
        advance(1)
    return writer.index()
