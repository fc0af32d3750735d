"""Flat trees as columns: layout trees in reading order, normalised operator trees in pre-order."""

from __future__ import annotations

from typing import NamedTuple

from porism.formula.canonical.hashed import HashedNode
from porism.formula.tree import Node

MAX_NODES = 255  # larger trees are cut, so that the position of a node fits a byte; tuples still cover the rest
# Scripts and other attachments of a symbol are read before the symbol that follows it.
READING_ORDER = "abcoudwen"
_READING = {edge: rank for rank, edge in enumerate(READING_ORDER)}


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
            pairs = sorted(zip(node.edges, children, strict=True), key=_reversed_reading_order)
            stack.extend((child, ord(letter)) for letter, child in pairs)
    return FlatLayout(labels, edges, nodes)


def _reversed_reading_order(pair: tuple[str, Node]) -> int:
    return -_READING[pair[0]]


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
