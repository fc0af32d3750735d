"""Formulas as the paths of their operator trees, and an index of the paths."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from porism.hashing import hash64
from porism.systems.approach0.grammar import OperatorNode, parse
from porism.systems.approach0.lexer import UnreadableFormula
from porism.systems.arrays import Ints, Small, StoredIndex, starts_of

MAX_LEAVES = 64  # of a formula; the original reads no more paths
MAX_KEYS = 128  # different keys of an indexed formula
SMALLEST_SHARE = 0.2  # of the leaves: an indexed formula has no groups under smaller nodes
COMPARED_OPERATORS = 4  # operators of a path, from the leaf, whose symbols are compared

# Under these operators the order of operands matters, so a path has the position of the operand (the third and later
# ones are equal).
ORDERED = frozenset({"FRAC", "SEP", "ROOT", "BINOM", "MODULAR", "FORALL", "EXISTS", "FACT", "VECT", "FLOAT"})
LAST_POSITION = 3
SIGN = "SIGN"
NO_ROOTS = frozenset({"BASE", "SUBSCRIPT", "SUPSCRIPT"})
EQUAL_SYMBOLS = frozenset({"SEP", "TIMES"})  # classes whose operators are all one symbol


class Step(NamedTuple):
    """A node on a path: its classes (with sign and position, if any), its number, and its operator symbol."""

    classes: tuple[str, ...]
    node: int
    operator: str  # empty where the node is no operator


@dataclass(slots=True)
class PathGroup:
    """Leaves with equal paths to one node: how often each symbol occurs, and the operators on their paths."""

    key: str
    node: int
    symbols: Counter[str] = field(default_factory=Counter)
    operators: Counter[tuple[str, ...]] = field(default_factory=Counter)

    @property
    def width(self) -> int:
        """Number of leaves."""
        return self.symbols.total()


class FormulaPaths(NamedTuple):
    """All path groups of a formula, and its number of leaf-root paths."""

    groups: tuple[PathGroup, ...]
    leaves: int


class _Leaf(NamedTuple):
    symbol: str
    node_class: str
    steps: tuple[Step, ...]


class _TreeReader:
    """Walks one tree: leaves from left to right, and the number of leaves under each node."""

    def __init__(self, root: OperatorNode) -> None:
        self.leaves: list[_Leaf] = []
        self.sizes: dict[int, int] = {}  # leaves under a node, and operands that are missing below it
        self._nodes = 0
        self._walk(root, ())

    def _walk(self, node: OperatorNode, above: tuple[Step, ...]) -> tuple[int, int]:
        """Read a subtree; return its number of leaves and of missing operands."""
        if not node.children:
            self.leaves.append(_Leaf(f"{node.node_class}:{node.symbol}", node.node_class, above))
            return 1, 0
        number = self._nodes
        self._nodes += 1
        leaves = missing = 0
        for position, child in enumerate(node.children, 1):
            found = self._walk(child, (_step(node, child, number, position), *above))
            leaves += found[0]
            missing += found[1]
        self.sizes[number] = leaves + missing
        return leaves, missing + node.missing


def _step(node: OperatorNode, child: OperatorNode, number: int, position: int) -> Step:
    classes: tuple[str, ...] = (node.node_class,)
    operator = "" if node.node_class in NO_ROOTS else node.node_class
    if operator and node.node_class not in EQUAL_SYMBOLS:
        operator = node.symbol
    if node.node_class in ORDERED:
        classes = (f"RANK{min(position, LAST_POSITION)}", *classes)
    if node.node_class == "ADD":
        classes = (SIGN, *classes)
        operator += "-" if child.negative else "+"
    return Step(classes, number, operator)


def formula_paths(root: OperatorNode, is_query: bool = False) -> FormulaPaths:
    """Return the path groups of a tree. A query keeps all of them; an indexed formula loses those under small nodes."""
    tree = root if root.children else OperatorNode("NIL", "NIL", [root])
    reader = _TreeReader(tree)
    leaves = reader.leaves[:MAX_LEAVES]
    smallest = 0.0 if is_query else SMALLEST_SHARE * len(leaves)
    prefixes = [(leaf, *one) for leaf in leaves for one in _prefixes(leaf) if reader.sizes[one[1]] > smallest]
    keys = dict.fromkeys(key for _, key, _, _ in prefixes)
    if len(keys) > MAX_KEYS and not is_query:  # those with the fewest nodes stay; signs are no nodes
        keys = dict.fromkeys(sorted(keys, key=lambda key: key.count(" ") - key.count(f" {SIGN}"))[:MAX_KEYS])
    groups: dict[tuple[str, int], PathGroup] = {}
    for leaf, key, node, operators in prefixes:
        if key in keys:
            group = groups.setdefault((key, node), PathGroup(key, node))
            group.symbols[leaf.symbol] += 1
            group.operators[operators] += 1
    return FormulaPaths(tuple(groups.values()), len(leaves))


def _prefixes(leaf: _Leaf) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Yield each key of a leaf with the node where it ends and the operators up to there."""
    names = [leaf.node_class]
    operators: tuple[str, ...] = ()
    for step in leaf.steps:
        names += step.classes
        if step.operator and len(operators) < COMPARED_OPERATORS:
            operators = (*operators, step.operator)
        if step.classes[-1] not in NO_ROOTS:
            yield " ".join(names), step.node, operators


@dataclass(frozen=True)
class PathIndex(StoredIndex):
    """Path groups of formulas.

    Formula f has `leaves[f]` paths (0 where it cannot be read). Node n belongs to formula `node_formulas[n]`, its
    groups are node_starts[n] to node_starts[n + 1]. A group has the hash of its key, a hash of its operators, its
    width, and its symbols with counts from symbol_starts[g] to symbol_starts[g + 1]. The groups of key_values[i] are
    by_key[key_starts[i]:key_starts[i + 1]].
    """

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

    @cached_property
    def group_nodes(self) -> Small:
        """The node of each group."""
        return np.repeat(np.arange(len(self.node_formulas), dtype=np.int32), np.diff(self.node_starts))


class PathWriter:
    """Collects the groups of one formula after the other."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.leaves, self.node_formulas, self.node_sizes, self.widths = (array("i") for _ in range(4))
        self.symbol_sizes, self.symbols, self.counts = (array("i") for _ in range(3))
        self.keys, self.operators = array("q"), array("q")

    def add(self, paths: FormulaPaths | None) -> None:
        """Add a formula; None is one that cannot be read."""
        formula = len(self.leaves)
        self.leaves.append(paths.leaves if paths else 0)
        nodes: dict[int, list[PathGroup]] = {}
        for group in paths.groups if paths else ():
            nodes.setdefault(group.node, []).append(group)
        for node in sorted(nodes):
            self.node_formulas.append(formula)
            self.node_sizes.append(len(nodes[node]))
            for group in nodes[node]:
                self.keys.append(hash64(group.key))
                names = sorted(group.operators.items())  # in an order that does not depend on that of the leaves
                self.operators.append(hash64("|".join(f"{count}*{'.'.join(path)}" for path, count in names)))
                self.widths.append(group.width)
                self.symbol_sizes.append(len(group.symbols))
                self.symbols.extend(self.codes.setdefault(symbol, len(self.codes)) for symbol in group.symbols)
                self.counts.extend(group.symbols.values())

    def index(self) -> PathIndex:
        """Return the index of all formulas."""
        keys = np.array(self.keys, np.int64)
        by_key = np.argsort(keys, kind="stable").astype(np.int32)
        values, firsts = np.unique(keys[by_key], return_index=True)
        leaves, node_formulas, widths, symbols, counts = (
            np.array(one, np.int32) for one in (self.leaves, self.node_formulas, self.widths, self.symbols, self.counts)
        )
        starts, symbol_starts = starts_of(self.node_sizes), starts_of(self.symbol_sizes)
        key_starts, operators = np.append(firsts, len(keys)).astype(np.int64), np.array(self.operators, np.int64)
        return PathIndex(
            self.codes, leaves, node_formulas, starts, keys, operators, widths, symbol_starts, symbols, counts, by_key,
            values, key_starts,
        )  # fmt: skip


def read_paths(latex: str, is_query: bool = False) -> FormulaPaths | None:
    """Return the path groups of a formula; None where it cannot be read or holds nothing."""
    try:
        tree = parse(latex)
    except (UnreadableFormula, RecursionError):
        return None
    return None if tree is None else formula_paths(tree, is_query)


def index_formulas(formulas: Iterable[str], advance: Callable[[int], None] = lambda number: None) -> PathIndex:
    """Index the path groups of formulas, in their order; `advance` is called for each."""
    writer = PathWriter()
    for latex in formulas:
        writer.add(read_paths(latex))
        advance(1)
    return writer.index()
