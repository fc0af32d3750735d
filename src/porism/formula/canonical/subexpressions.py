"""The sub-expressions of a formula and their hashes at every canonical level."""

from __future__ import annotations

from porism.formula.canonical.hashed import HashedNode, label_of
from porism.formula.canonical.rules import normal, normal_leaf
from porism.formula.tree import Node
from porism.hashing import combine


class SubExpression:
    """A sub-expression: its number of nodes, its hash as written, and its normal form."""

    __slots__ = ("normal", "size", "written")

    def __init__(self, size: int, written: bytes, normal: HashedNode) -> None:
        self.size = size
        self.written = written
        self.normal = normal


# Small sub-expressions occur again in other formulas, so their normal forms are kept.
_leaves: dict[str, SubExpression] = {}
_known: dict[bytes, SubExpression] = {}
_SMALL = 12
_MAX_LEAVES = 50_000
_MAX_KNOWN = 40_000


def subexpressions(tree: Node) -> list[SubExpression]:
    """Return every sub-expression of an operator tree, breadth first. Formulas share the normal forms, which have no
    places."""
    order = [tree]
    for node in order:
        if node.children:
            order += node.children
    flags: list[str] = []
    # Going backwards, the operands of a node come just before those of the node handled before it.
    done: list[SubExpression] = [_NOTHING] * len(order)
    end = at = len(order)
    for node in reversed(order):
        at -= 1
        label = node.label
        count = len(node.children)
        if not count:
            done[at] = _leaves.get(label) or _leaf(label)
            continue
        operands = done[end - count : end]
        end -= count
        digests = [operand.written for operand in operands]
        digests.append(label_of(label).hash)
        written = combine(digests)
        done[at] = _known.get(written) or _inner(label, written, operands, flags)
    return done


def _inner(label: str, written: bytes, operands: list[SubExpression], flags: list[str]) -> SubExpression:
    size = 1 + sum([operand.size for operand in operands])
    made = SubExpression(size, written, normal(label, [operand.normal for operand in operands], (), flags))
    if size <= _SMALL:
        if len(_known) >= _MAX_KNOWN:
            _known.clear()
        _known[written] = made
    return made


def _leaf(label: str) -> SubExpression:
    if len(_leaves) > _MAX_LEAVES:
        _leaves.clear()
    found = _leaves[label] = SubExpression(1, label_of(label).hash, normal_leaf(label))
    return found


_NOTHING = _leaf("W!")
