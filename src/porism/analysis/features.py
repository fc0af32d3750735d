"""Features of a formula: flat trees and paths for re-ranking, and the terms of posting lists."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from porism.analysis.paths import Paths, PathTable, find_paths
from porism.formula.canonical.forms import SubExpression, subexpressions
from porism.formula.canonical.hashed import HashedNode
from porism.formula.layout.tuples import mathtuples
from porism.formula.tree import Node

MAX_NODES = 255  # larger trees are cut, so that the position of a node fits a byte; tuples still cover the rest
# Scripts and other attachments of a symbol are read before the symbol that follows it.
READING_ORDER = "abcoudwen"
_READING = {edge: rank for rank, edge in enumerate(READING_ORDER)}
# The first letter of the term of a sub-expression names its canonical level.
WRITTEN, NORMALISED, COMMUTATIVE, RENAMED = "abcd"
LEVEL_PREFIX: dict[str, str] = {
    "written": WRITTEN,
    "normalised": NORMALISED,
    "commutative": COMMUTATIVE,
    "renamed": RENAMED,
}
# The same as the first byte of a term.
LEVEL_BYTES = {letter: int(letter, 16) << 4 for letter in LEVEL_PREFIX.values()}
MAX_TERM_STEPS = 3  # longer paths find nothing that shorter ones do not
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class FlatLayout(NamedTuple):
    """A layout tree in reading order: label, edge to the parent (the code point of its letter) and node."""

    labels: list[str]
    edges: list[int]
    nodes: list[Node]


class FlatOperators(NamedTuple):
    """An operator tree in pre-order: label, position of the parent (-1 for the root), rank among the operands of the
    parent, and node."""

    labels: list[str]
    parents: list[int]
    ranks: list[int]
    nodes: list[HashedNode]


def flat_layout(root: Node) -> FlatLayout:
    """Return a layout tree in reading order."""
    labels: list[str] = []
    edges: list[int] = []
    nodes: list[Node] = []
    stack = [(root, 110)]  # 110 is `n`, the edge to the next symbol
    while stack and len(labels) < MAX_NODES:
        node, edge = stack.pop()
        labels.append(node.label)
        edges.append(edge)
        nodes.append(node)
        children = node.children
        if len(children) == 1:
            stack.append((children[0], ord(node.edges)))
        elif children:
            pairs = sorted(zip(node.edges, children, strict=True), key=lambda pair: -_READING[pair[0]])
            stack.extend((child, ord(letter)) for letter, child in pairs)
    return FlatLayout(labels, edges, nodes)


def flat_operators(root: HashedNode) -> FlatOperators:
    """Return a normalised operator tree in pre-order. Operands are in the order of the `commutative` level."""
    labels: list[str] = []
    parents: list[int] = []
    ranks: list[int] = []
    nodes: list[HashedNode] = []
    stack = [(root, -1, 0)]
    while stack and len(labels) < MAX_NODES:
        node, parent, rank = stack.pop()
        position = len(labels)
        labels.append(node.label)
        parents.append(parent)
        ranks.append(rank)
        nodes.append(node)
        if node.operands:
            operands = node.ordered()
            for at in range(len(operands) - 1, -1, -1):
                stack.append((operands[at], position, at))
    return FlatOperators(labels, parents, ranks, nodes)


class Features(NamedTuple):
    """Features of one formula: the terms of each family, the flat trees, and the paths of the operator tree."""

    tuples: list[str]
    paths: list[str]
    parts: list[str]
    layout: FlatLayout
    operators: FlatOperators
    tree_paths: Paths


def features(layout: Node, operators: Node) -> Features:
    """Return the features of a formula from its layout tree and its operator tree."""
    return features_of_many([(layout, operators)])[0]


def features_of_many(formulas: Sequence[tuple[Node, Node]]) -> list[Features]:
    """Return the features of each formula. This is faster than formula by formula."""
    table = operator_table([operators for _, operators in formulas])
    tuples = [mathtuples(layout) for layout, _ in formulas]
    layouts = [flat_layout(layout) for layout, _ in formulas]
    # All terms are formatted at once: big-endian bytes in hex, with a blank after each number.
    paths = _split_terms(table.paths.numbers.astype(">u8").tobytes().hex(" ", 8), table.paths.ends, 17)
    parts = _split_terms(table.parts.rows().tobytes().hex(" ", 9), table.parts.ends, 19)
    rows = zip(tuples, paths, parts, layouts, table.operators, table.tree_paths.by_tree(), strict=True)
    return [Features(*row) for row in rows]


class PathNumbers(NamedTuple):
    """The path terms of many formulas as numbers, and where those of each formula end. The text of a term is its number
    in 16 hexadecimal digits."""

    numbers: npt.NDArray[np.uint64]
    ends: list[int]


class PartNumbers(NamedTuple):
    """The sub-expressions of many formulas: the level of each (a code of LEVEL_BYTES) and its hash, and where those of
    each formula end. The text of a term is level and hash in hexadecimal digits."""

    levels: npt.NDArray[np.uint8]
    numbers: npt.NDArray[np.uint64]
    ends: list[int]

    def rows(self) -> npt.NDArray[np.uint8]:
        """Return level and hash of each term as a row of nine bytes."""
        rows = np.empty((len(self.levels), 9), np.uint8)
        rows[:, 0] = self.levels
        rows[:, 1:] = self.numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
        return rows


class OperatorTable(NamedTuple):
    """The features of many operator trees, as `Features` has them of one. Terms have no text yet."""

    paths: PathNumbers
    parts: PartNumbers
    operators: list[FlatOperators]
    tree_paths: PathTable


def operator_table(trees: Sequence[Node]) -> OperatorTable:
    """Return the features of many operator trees as columns."""
    parts = [subexpressions(tree) for tree in trees]
    flats = [flat_operators(own[0].normal) for own in parts]
    table = find_paths(flats)
    return OperatorTable(path_numbers(table), part_numbers(parts, flats), flats, table)


def path_numbers(table: PathTable) -> PathNumbers:
    """Return the path terms of each tree: every short path by classes alone, and with the symbol at its lower end."""
    short = table.steps <= MAX_TERM_STEPS
    tree = table.tree[short]
    keys = table.keys[short].astype(np.uint64)
    labels = np.array([_label_hash(label) for label in table.labels], np.uint64)
    symbols = labels[table.label_ids[table.node_starts[tree] + table.below[short]]]
    with np.errstate(over="ignore"):
        with_symbol = ((keys << np.uint64(32)) | symbols) * _MULTIPLIER >> np.uint64(24)
    ends: list[int] = np.cumsum(2 * np.bincount(tree, minlength=len(table.path_ends))).tolist()
    return PathNumbers(np.stack((keys, with_symbol), axis=1).reshape(-1), ends)


@lru_cache(maxsize=100_000)
def _label_hash(label: str) -> int:
    return crc32(label.encode("utf-8", "surrogatepass"))


def part_numbers(parts: Sequence[list[SubExpression]], trees: Sequence[FlatOperators]) -> PartNumbers:
    """Return the terms of each formula's sub-expressions: the hash of each that is larger than a leaf, at each
    canonical level. Those as written come first, and the whole formula comes before its parts."""
    hashes: list[bytes] = []
    levels: list[bytes] = []
    ends: list[int] = []
    before = 0
    for own, tree in zip(parts, trees, strict=True):
        written = [part.written for part in own if part.size > 1]
        hashes += written
        for node in tree.nodes:
            if node.operands:
                hashes += (node.normalised, node.commutative, node.renamed())
        levels.append(b"\xa0" * len(written) + b"\xb0\xc0\xd0" * ((len(hashes) - len(written) - before) // 3))
        before = len(hashes)
        ends.append(before)
    numbers = np.frombuffer(b"".join(hashes), ">u8").astype(np.uint64)
    return PartNumbers(np.frombuffer(b"".join(levels), np.uint8), numbers, ends)


def _split_terms(text: str, ends: list[int], width: int) -> list[list[str]]:
    """Split a text of terms of equal width into the terms of each formula."""
    return [text[start * width : end * width].split() for start, end in zip((0, *ends[:-1]), ends, strict=True)]
