"""Operator nodes that carry 64-bit hashes of their sub-expression, so that two sub-expressions are compared by 8 bytes.

A hash is made of the hash of the label and those of the operands, so a tree is hashed in one pass from the leaves to
the root. There is a hash for each canonical level: `normalised` respects the order of operands; `commutative` ignores
it where the operator is commutative; `shape` is `commutative` with every variable blank. Equality up to renaming needs
one thing more: `variables` has for each variable a hash of all positions where it occurs, whatever the variables are
called (compare hashing modulo alpha-equivalence, Maziarz et al., PLDI 2021)."""

from __future__ import annotations

from collections.abc import Sequence

from porism.formula.tree import Node
from porism.hashing import combine, digest64

# Commutative functions; labels of commutative operators begin with `U!`, those of sets with `M!S-`.
_COMMUTATIVE = frozenset(("F!gcd", "F!lcm", "F!max", "F!min"))
_MAX_LABELS = 100_000
# Characters of the labels of an operand that decide its place among others; operands that agree in them are sorted by
# hash.
_TAIL = 64


class Label:
    """What hashing needs to know of a label: its hash, and whether its operands may come in any order."""

    __slots__ = ("commutative", "hash")

    def __init__(self, text: str) -> None:
        self.hash = digest64(text)
        self.commutative = text[:2] == "U!" or text[:4] == "M!S-" or text in _COMMUTATIVE


_labels: dict[str, Label] = {}


def label_of(text: str) -> Label:
    """Return the hash and the commutativity of a label."""
    found = _labels.get(text)
    if found is None:
        if len(_labels) > _MAX_LABELS:
            _labels.clear()
        found = _labels[text] = Label(text)
    return found


BLANK = digest64("a variable")
_POSITION = digest64("the position of a variable itself")
_NO_VARIABLES: dict[str, bytes] = {}


class HashedNode:
    """An immutable operator node with its hashes. `places` are the numbers of its MathML elements."""

    __slots__ = (
        "_ordered", "_renamed", "_tail", "commutative", "label", "normalised", "operands", "places", "shape",
        "variables",
    )  # fmt: skip

    def __init__(
        self,
        label: str,
        operands: Sequence[HashedNode],
        places: tuple[int, ...],
        normalised: bytes,
        commutative: bytes,
        shape: bytes,
        variables: dict[str, bytes],
    ) -> None:
        self.label = label
        self.operands = operands
        self.places = places
        self.normalised = normalised
        self.commutative = commutative
        self.shape = shape
        self.variables = variables
        self._renamed: bytes | None = None
        self._ordered: Sequence[HashedNode] | None = None if operands else operands
        self._tail = label

    def renamed(self) -> bytes:
        """Return the hash of the sub-expression up to renaming of its variables."""
        if self._renamed is None:
            positions = sorted(self.variables.values())
            positions.append(self.shape)
            self._renamed = combine(positions)
        return self._renamed

    def ordered(self) -> Sequence[HashedNode]:
        """Return the operands in the order of level `commutative`.

        They are sorted by their labels from the last leaf back to the root. In this order `x`, `3x` and `sin x` are
        neighbours: a coefficient or function before an operand seldom changes its place, so similar formulas have their
        operands in a similar order."""
        if self._ordered is None:
            _sort_operands(self)
        assert self._ordered is not None
        return self._ordered

    def breadth_first(self) -> list[HashedNode]:
        """Return this node and all below it, level by level."""
        order = [self]
        for node in order:
            order.extend(node.operands)
        return order

    def tree(self) -> Node:
        """Return a plain operator tree, however deep it is."""
        root = Node(self.label, None, "", self.places)
        stack = [(self, root)]
        while stack:
            hashed, node = stack.pop()
            for operand in hashed.operands:
                child = Node(operand.label, None, "", operand.places)
                node.children.append(child)
                if operand.operands:
                    stack.append((operand, child))
        return root


def _sort_operands(root: HashedNode) -> None:
    """Sort the operands of every node of a sub-expression, from the leaves to the root."""
    order = [root]
    for node in order:
        for operand in node.operands:
            if operand._ordered is None:
                order.append(operand)
    for node in reversed(order):
        ordered = node.operands
        if len(ordered) > 1 and label_of(node.label).commutative:
            ordered = sorted(ordered, key=_order)
        labels = [operand._tail for operand in reversed(ordered)]
        labels.append(node.label)
        # Text that sorts like the list of labels.
        node._tail = "\0".join(labels)[:_TAIL]
        node._ordered = ordered


def _order(node: HashedNode) -> tuple[str, bytes]:
    return node._tail, node.commutative


def hashed_leaf(label: str, places: tuple[int, ...] = ()) -> HashedNode:
    """Return a node without operands."""
    own = label_of(label).hash
    if label[:2] == "V!":
        return HashedNode(label, (), places, own, own, BLANK, {label: _POSITION})
    return HashedNode(label, (), places, own, own, own, _NO_VARIABLES)


def hashed_node(label: str, operands: Sequence[HashedNode], places: tuple[int, ...] = ()) -> HashedNode:
    """Return a node with the hashes that follow from those of its operands."""
    if not operands:
        return hashed_leaf(label, places)
    known = _labels.get(label) or label_of(label)
    own = known.hash
    normalised = [operand.normalised for operand in operands]
    commutative = [operand.commutative for operand in operands]
    shapes = [operand.shape for operand in operands]
    if known.commutative:
        # Sorted, the hashes are the same in whatever order the operands were written.
        commutative.sort()
        shapes.sort()
    for digests in (normalised, commutative, shapes):
        digests.append(own)
    variables = _variables(known, operands)
    return HashedNode(label, operands, places, combine(normalised), combine(commutative), combine(shapes), variables)


def index_bytes(index: int) -> bytes:
    """Return the index of an operand as a part of what is hashed."""
    return index.to_bytes(4, "big")


def _variables(label: Label, operands: Sequence[HashedNode]) -> dict[str, bytes]:
    """Return the hash of each variable's positions: inside each operand, and where that operand is."""
    own = label.hash
    positions: dict[str, list[bytes]] = {}
    at = 0
    for operand in operands:
        if not label.commutative:
            at += 1
        if not operand.variables:
            continue
        edge = own + index_bytes(at) + operand.shape
        for name, position in operand.variables.items():
            here = combine((edge, position))
            known = positions.get(name)
            if known is None:
                positions[name] = [here]
            else:
                known.append(here)
    return {name: found[0] if len(found) == 1 else combine(sorted(found)) for name, found in positions.items()}
