"""The nodes of layout trees and operator trees."""

from __future__ import annotations

from collections.abc import Iterator

# The edges of a layout tree, as in Tangent-S: next, above, below, over, under, pre-above, pre-below, within, element.
EDGES = "naboucdwe"
_RANK = {edge: rank for rank, edge in enumerate(EDGES)}


class Node:
    """A node of a layout tree or an operator tree.

    `label` begins with a type as in Tangent-S (`V!x`, `N!2`, `+`, `O!divide`, `U!plus`, ...). In a layout tree `edges`
    has one letter of `EDGES` for each child; in an operator tree it is empty and the children are the operands in
    order. `places` are the MathML elements of the node itself, numbered in document order, so that a page can highlight
    them."""

    __slots__ = ("children", "edges", "label", "places")

    def __init__(
        self, label: str, children: list[Node] | None = None, edges: str = "", places: tuple[int, ...] = ()
    ) -> None:
        self.label = label
        self.children: list[Node] = [] if children is None else children
        self.edges = edges
        self.places = places

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it in pre-order, however deep the tree is."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def child(self, edge: str) -> Node | None:
        """Return the child at an edge of a layout tree."""
        at = self.edges.find(edge)
        return self.children[at] if at >= 0 else None

    def size(self) -> int:
        """Return the number of nodes of the tree."""
        return sum(1 for _ in self.walk())

    def __eq__(self, other: object) -> bool:
        """Compare labels and edges all the way down; places do not count."""
        if not isinstance(other, Node):
            return NotImplemented
        stack = [(self, other)]
        while stack:
            a, b = stack.pop()
            if a.label != b.label or a.edges != b.edges or len(a.children) != len(b.children):
                return False
            stack.extend(zip(a.children, b.children, strict=True))
        return True

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return a short form for debugging."""
        inside = ", ".join(repr(c) for c in self.children[:9])
        return f"{self.label}({inside})" if self.children else self.label


def attach(node: Node, edge: str, child: Node) -> None:
    """Add a child at an edge of a layout tree and keep the children in the order of `EDGES`."""
    edges = node.edges
    if not edges:
        node.edges = edge
        node.children.append(child)
        return
    rank = _RANK[edge]
    at = 0
    while at < len(edges) and _RANK[edges[at]] < rank:
        at += 1
    node.children.insert(at, child)
    node.edges = edges[:at] + edge + edges[at:]


def chain(row: list[Node]) -> Node:
    """Link the nodes of a row by the edge `n` and return the first."""
    for at in range(len(row) - 1, 0, -1):
        node = row[at - 1]
        node.children.insert(0, row[at])
        node.edges = "n" + node.edges
    return row[0]


def row_of(node: Node) -> list[Node]:
    """Return a node of a layout tree and all that follow it on its baseline."""
    row = [node]
    while node.edges[:1] == "n":
        node = node.children[0]
        row.append(node)
    return row


def link_elements(node: Node, elements: list[Node]) -> None:
    """Attach the first element of a group or table to its node by `w` and link the rest by `e`."""
    for at in range(len(elements) - 1, 0, -1):
        attach(elements[at - 1], "e", elements[at])
    attach(node, "w", elements[0])


def elements_of(node: Node) -> list[Node]:
    """Return the first node of each element of a group or table, row by row."""
    found = []
    element = node.child("w")
    while element is not None:
        found.append(element)
        element = element.child("e")
    return found
