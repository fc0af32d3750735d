"""Trees as rows of numbers: the layout tree in reading order, the operator tree (ordered, normalised) in pre-order."""

from __future__ import annotations

from typing import NamedTuple

from porism.formula.canonical.hashed import HashedNode
from porism.formula.tree import Node

MAX_NODES = 255  # longer formulas are cut: node numbers fit a byte, and the tuples still see the rest
# What hangs on a symbol is read before what follows it.
_READING = {edge: rank for rank, edge in enumerate("abcoudwen")}


class FlatLayout(NamedTuple):
    """Labels in reading order, and the edge each hangs on (a letter's number)."""

    labels: list[str]
    edges: list[int]
    nodes: list[Node]


class FlatOperators(NamedTuple):
    """Labels in pre-order, the number of each node's parent (-1 at the root), and which operand of it the node is."""

    labels: list[str]
    parents: list[int]
    ranks: list[int]
    terms: list[HashedNode]


def flat_layout(root: Node) -> FlatLayout:
    """A layout tree in reading order."""
    labels: list[str] = []
    edges: list[int] = []
    nodes: list[Node] = []
    stack = [(root, 110)]  # 110 is `n`: the first symbol follows nothing
    while stack and len(labels) < MAX_NODES:
        node, edge = stack.pop()
        labels.append(node.label)
        edges.append(edge)
        nodes.append(node)
        children = node.children
        if len(children) == 1:
            stack.append((children[0], ord(node.edges)))
        elif children:
            pairs = sorted(zip(node.edges, children, strict=True), key=_late)
            stack.extend((child, ord(letter)) for letter, child in pairs)
    return FlatLayout(labels, edges, nodes)


def _late(pair: tuple[str, Node]) -> int:
    return -_READING[pair[0]]


def flat_operators(root: HashedNode) -> FlatOperators:
    """A normalised operator tree in pre-order, operands in the order of the `commutative` level."""
    labels: list[str] = []
    parents: list[int] = []
    ranks: list[int] = []
    terms: list[HashedNode] = []
    stack = [(root, -1, 0)]
    while stack and len(labels) < MAX_NODES:
        term, parent, rank = stack.pop()
        number = len(labels)
        labels.append(term.label)
        parents.append(parent)
        ranks.append(rank)
        terms.append(term)
        if term.operands:
            kids = term.ordered()
            for at in range(len(kids) - 1, -1, -1):
                stack.append((kids[at], number, at))
    return FlatOperators(labels, parents, ranks, terms)
