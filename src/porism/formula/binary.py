"""The binary format of a formula's two trees, as the index stores them.

A version byte, then the layout tree, then the operator tree. Each tree has a header of four 32-bit numbers (nodes,
places, bytes of edges, bytes of labels). Then follow, for all nodes in pre-order: the numbers of children (16 bits
each), the numbers of places (16 bits each), the places (16 bits each), the edges (one letter each; none in an operator
tree) and the labels (UTF-8, separated by NUL). Numbers are little-endian, so that numpy can read them in place."""

from __future__ import annotations

import struct
import sys
from array import array
from typing import NamedTuple

from porism.errors import PorismError
from porism.formula.parsed import Parsed
from porism.formula.tree import Node
from porism.integrity import DamageError

VERSION = 1


class Trees(NamedTuple):
    """The two trees of a formula."""

    layout: Node
    operators: Node


# What reading damaged trees raises.
UNREADABLE = (struct.error, ValueError, IndexError, OverflowError)
HEAD = struct.Struct("<4I")
_SWAP = sys.byteorder == "big"


def pack(parsed: Parsed) -> bytes:
    """Return the layout tree and the operator tree of a formula as bytes."""
    return bytes((VERSION,)) + pack_tree(parsed.layout) + pack_tree(parsed.operators)


def unpack(data: bytes) -> Trees:
    """Return the layout tree and the operator tree."""
    check_version(data)
    try:
        layout, at = unpack_tree(data, 1)
        _check_layout(layout)
        return Trees(layout, unpack_tree(data, at)[0])
    except UNREADABLE:
        raise damaged() from None


def unpack_layout(data: bytes) -> Node:
    """Return the layout tree alone."""
    check_version(data)
    try:
        return _check_layout(unpack_tree(data, 1)[0])
    except UNREADABLE:
        raise damaged() from None


def unpack_operators(data: bytes, with_places: bool = True) -> Node:
    """Return the operator tree alone; its nodes may be left without places, which takes less time."""
    check_version(data)
    try:
        nodes, places, edges, labels = HEAD.unpack_from(data, 1)
        return unpack_tree(data, 1 + HEAD.size + 4 * nodes + 2 * places + edges + labels, with_places)[0]
    except UNREADABLE:
        raise damaged() from None


def _check_layout(root: Node) -> Node:
    """Return the root of a layout tree, whose children have edges: all are stored, or none is."""
    if root.children and not root.edges:
        raise ValueError("a layout tree has no edges")
    return root


def damaged() -> PorismError:
    """Return the error for trees that cannot be read."""
    return DamageError(
        "the stored trees of a formula are damaged", fix="find the damaged file: porism store verify PATH"
    )


def check_version(data: bytes) -> None:
    """Raise PorismError if packed trees are missing or of another version."""
    if not data or data[0] != VERSION:
        found = f"are stored in format {data[0]}" if data else "are missing"
        raise PorismError(f"the trees {found}; this version reads format {VERSION}", fix="build the collection again")


def pack_tree(root: Node) -> bytes:
    """Return one tree as bytes."""
    widths: list[int] = []
    held: list[int] = []
    all_places: list[int] = []
    all_edges: list[str] = []
    all_labels: list[str] = []
    stack = [root]
    while stack:
        node = stack.pop()
        below = node.children
        width = len(below)
        widths.append(width)
        places = node.places
        held.append(len(places))
        if places:
            all_places += places
        all_labels.append(node.label)
        if width:
            all_edges.append(node.edges)
            for at in range(width - 1, -1, -1):
                stack.append(below[at])
    nodes = len(widths)
    widths += held
    widths += all_places
    numbers = array("H", widths)
    if _SWAP:
        numbers.byteswap()
    edges = "".join(all_edges).encode("ascii")
    labels = "\0".join(all_labels).encode("utf-8", "surrogatepass")
    head = HEAD.pack(nodes, len(all_places), len(edges), len(labels))
    return b"".join((head, numbers.tobytes(), edges, labels))


def unpack_tree(data: bytes, at: int, with_places: bool = True) -> tuple[Node, int]:
    """Return the tree that starts at an offset, and the offset after it."""
    count, place_count, edge_bytes, label_bytes = HEAD.unpack_from(data, at)
    at += HEAD.size
    numbers = array("H")
    end = at + 4 * count + 2 * place_count
    numbers.frombytes(data[at:end])
    if _SWAP:
        numbers.byteswap()
    edges = data[end : end + edge_bytes].decode("ascii")
    end += edge_bytes
    labels = data[end : end + label_bytes].decode("utf-8", "surrogatepass").split("\0")
    return _build(labels, numbers.tolist(), count, edges, with_places), end + label_bytes


def _build(labels: list[str], numbers: list[int], count: int, edges: str, with_places: bool) -> Node:
    """Build the nodes from the last to the first: a parent takes its children from the top of a stack."""
    stack: list[Node] = []
    place = len(numbers)
    edge = len(edges)
    places: tuple[int, ...] = ()
    for at in range(count - 1, -1, -1):
        if with_places:
            held = numbers[count + at]
            places = tuple(numbers[place - held : place])
            place -= held
        width = numbers[at]
        if width > len(stack):
            raise ValueError("a node has more children than nodes follow it")
        if width:
            children = stack[: -width - 1 : -1]
            del stack[-width:]
            stack.append(Node(labels[at], children, edges[edge - width : edge] if edges else "", places))
            edge -= width
        else:
            stack.append(Node(labels[at], None, "", places))
    if len(stack) != 1:
        raise ValueError("there is more than one root, or none")
    if edges and edge:
        raise ValueError("there are not as many edges as children")
    return stack[0]
