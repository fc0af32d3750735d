"""Leaf-root paths of an operator tree, grouped as Approach Zero indexes them.

A path is the sequence of classes from a leaf upwards. Leaves whose paths are equal up to the same node form one path group: that node is its
root, the classes are its key, the number of leaves is its width.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from porism.systems.approach0.grammar import Node

MAX_LEAVES = 64  # of a formula; the original reads no more paths
MAX_KEYS = 128  # different keys of an indexed formula
SMALLEST_SHARE = 0.2  # of the leaves: an indexed formula has no groups under smaller nodes
COMPARED_OPERATORS = 4  # operators of a path, from the leaf, whose symbols are compared

# Under these operators the order of operands matters, so a path has the position of the operand (the third and later ones are equal).
ORDERED = frozenset({"FRAC", "SEP", "ROOT", "BINOM", "MODULAR", "FORALL", "EXISTS", "FACT", "VECT", "FLOAT"})
LAST_POSITION = 3
SIGN = "SIGN"
NO_ROOTS = frozenset({"BASE", "SUBSCRIPT", "SUPSCRIPT"})
EQUAL_SYMBOLS = frozenset({"SEP", "TIMES"})  # classes whose operators are all one symbol


class Step(NamedTuple):
    """One node on a path: its classes (with sign and position, if any), its number in the formula, its operator symbol."""

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

    @property
    def operator_text(self) -> str:
        """The operators on the paths of all leaves, in an order that does not depend on that of the leaves."""
        return "|".join(f"{count}*{'.'.join(names)}" for names, count in sorted(self.operators.items()))


class FormulaPaths(NamedTuple):
    """All path groups of a formula, and its number of leaf-root paths."""

    groups: tuple[PathGroup, ...]
    leaves: int


class _Leaf(NamedTuple):
    symbol: str
    node_class: str
    steps: tuple[Step, ...]


class _Prefix(NamedTuple):
    key: str
    node: int
    operators: tuple[str, ...]


class _Reader:
    """Walks one tree: leaves from left to right, and the number of leaves under each node."""

    def __init__(self, root: Node) -> None:
        self.leaves: list[_Leaf] = []
        self.sizes: dict[int, int] = {}  # leaves under a node, and operands that are missing below it
        self._nodes = 0
        self._walk(root, ())

    def _walk(self, node: Node, above: tuple[Step, ...]) -> tuple[int, int]:
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


def _step(node: Node, child: Node, number: int, position: int) -> Step:
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


def formula_paths(root: Node, is_query: bool = False) -> FormulaPaths:
    """Return the path groups of a tree. A query keeps all of them; an indexed formula loses those under small nodes."""
    tree = root if root.children else Node("NIL", "NIL", [root])
    reader = _Reader(tree)
    leaves = reader.leaves[:MAX_LEAVES]
    smallest = 0.0 if is_query else SMALLEST_SHARE * len(leaves)
    prefixes = [(leaf, one) for leaf in leaves for one in _prefixes(leaf) if reader.sizes[one.node] > smallest]
    keys = dict.fromkeys(one.key for _, one in prefixes)
    if len(keys) > MAX_KEYS and not is_query:  # the shortest ones stay
        keys = dict.fromkeys(sorted(keys, key=_length)[:MAX_KEYS])
    groups: dict[tuple[str, int], PathGroup] = {}
    for leaf, one in prefixes:
        if one.key in keys:
            group = groups.setdefault((one.key, one.node), PathGroup(one.key, one.node))
            group.symbols[leaf.symbol] += 1
            group.operators[one.operators] += 1
    return FormulaPaths(tuple(groups.values()), len(leaves))


def _length(key: str) -> int:
    """Return the number of nodes on a path; signs are no nodes."""
    return len(key.split(" ")) - key.count(f" {SIGN}")


def _prefixes(leaf: _Leaf) -> Iterator[_Prefix]:
    """Yield each key of a leaf with the node where it ends and the operators up to there."""
    names = [leaf.node_class]
    operators: tuple[str, ...] = ()
    for step in leaf.steps:
        names += step.classes
        if step.operator and len(operators) < COMPARED_OPERATORS:
            operators = (*operators, step.operator)
        if step.classes[-1] not in NO_ROOTS:
            yield _Prefix(" ".join(names), step.node, operators)
