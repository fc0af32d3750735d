"""Both trees of a formula as bytes, for the index: small, quick to read, and numbered so that an old file is known for what it is.

A version byte, then the layout tree, then the operator tree. Each tree is a head of four numbers (nodes, places, bytes of edges, bytes of
labels; 32 bits) and then, node by node in pre-order: how many children (16 bits each), how many places (16 bits each), all places
(16 bits each), all edges (one letter each; none in an operator tree), all labels (UTF-8, NUL between). Little-endian throughout, so that
numpy can look at the numbers in place.
"""

from __future__ import annotations

import struct
import sys
from array import array

from porism.errors import PorismError
from porism.formula.parsed import Parsed
from porism.formula.tree import Node

VERSION = 1
_HEAD = struct.Struct("<4I")
_SWAP = sys.byteorder == "big"


def pack(parsed: Parsed) -> bytes:
    """The layout tree and the operator tree of a formula."""
    return bytes((VERSION,)) + pack_tree(parsed.layout) + pack_tree(parsed.operators)


def unpack(data: bytes) -> tuple[Node, Node]:
    """The layout tree and the operator tree."""
    _check(data)
    layout, at = unpack_tree(data, 1)
    return layout, unpack_tree(data, at)[0]


def unpack_layout(data: bytes) -> Node:
    """The layout tree alone."""
    _check(data)
    return unpack_tree(data, 1)[0]


def unpack_operators(data: bytes) -> Node:
    """The operator tree alone, without reading the layout tree."""
    _check(data)
    nodes, places, edges, labels = _HEAD.unpack_from(data, 1)
    return unpack_tree(data, 1 + _HEAD.size + 4 * nodes + 2 * places + edges + labels)[0]


def _check(data: bytes) -> None:
    if not data or data[0] != VERSION:
        found = f"format {data[0]}" if data else "nothing"
        raise PorismError(
            f"trees are stored in {found}; this version reads format {VERSION}", fix="build the collection again"
        )


def pack_tree(root: Node) -> bytes:
    """One tree."""
    nodes = list(root.walk())
    children = array("H", [len(node.children) for node in nodes])
    counts = array("H", [len(node.places) for node in nodes])
    places = array("H", [place for node in nodes for place in node.places])
    if _SWAP:
        for numbers in (children, counts, places):
            numbers.byteswap()
    edges = "".join([node.edges for node in nodes]).encode("ascii")
    labels = "\0".join([node.label for node in nodes]).encode("utf-8", "surrogatepass")
    head = _HEAD.pack(len(nodes), len(places), len(edges), len(labels))
    return b"".join((head, children.tobytes(), counts.tobytes(), places.tobytes(), edges, labels))


def unpack_tree(data: bytes, at: int = 0) -> tuple[Node, int]:
    """The tree that starts at an offset, and the offset after it."""
    count, place_count, edge_bytes, label_bytes = _HEAD.unpack_from(data, at)
    at += _HEAD.size
    numbers = array("H")
    end = at + 4 * count + 2 * place_count
    numbers.frombytes(data[at:end])
    if _SWAP:
        numbers.byteswap()
    edges = data[end : end + edge_bytes].decode("ascii")
    end += edge_bytes
    labels = data[end : end + label_bytes].decode("utf-8", "surrogatepass").split("\0")
    return _build(labels, numbers.tolist(), count, edges), end + label_bytes


def _build(labels: list[str], numbers: list[int], count: int, edges: str) -> Node:
    """Nodes from the last to the first: children are made before their parent, which takes them from the top of a stack."""
    stack: list[Node] = []
    place = len(numbers)
    edge = len(edges)
    for at in range(count - 1, -1, -1):
        held = numbers[count + at]
        places = tuple(numbers[place - held : place])
        place -= held
        width = numbers[at]
        if width:
            children = stack[: -width - 1 : -1]
            del stack[-width:]
            stack.append(Node(labels[at], children, edges[edge - width : edge] if edges else "", places))
            edge -= width
        else:
            stack.append(Node(labels[at], None, "", places))
    return stack[0]
