"""Canonical forms: one tree for all spellings that mean the same, at four levels.

`written` is the operator tree itself. `normalised` applies the rules of `rules.tsv`. `commutative` also sorts the
operands of commutative operators. `renamed` also numbers the variables by first occurrence (`V!v1`, `V!v2`, ...); it
sorts operands without regard to names, so that `a²+b²=c²` and `y²+x²=z²` have one tree. Sub-expressions have
them, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from porism.formula.canonical.hashed import HashedNode, index_bytes, label_of
from porism.formula.canonical.rules import normal, normal_leaf, normalise
from porism.formula.tree import Node
from porism.hashing import combine

Level = Literal["written", "normalised", "commutative", "renamed"]
LEVELS: tuple[Level, ...] = ("written", "normalised", "commutative", "renamed")

# Bounds for very symmetric formulas: how often exchangeable variables are separated, and how many node visits that may
# take in all. Beyond them, variables are numbered in order of occurrence.
_MAX_SPLITS = 32
_MAX_VISITS = 400_000
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Canonical:
    """A canonical tree.

    `names` maps each variable to its new name at level `renamed`. `flags` names the ambiguous rules that were
    applied."""

    tree: Node
    names: dict[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def canonical(tree: Node, level: Level = "renamed") -> Canonical:
    """Return the canonical form of an operator tree at a level."""
    if level == "written":
        return Canonical(tree)
    flags: list[str] = []
    root = normalise(tree, flags)
    applied = tuple(dict.fromkeys(flags))
    if level == "normalised":
        return Canonical(root.tree(), {}, applied)
    if level == "commutative":
        return Canonical(_ordered(root, {}, {}), {}, applied)
    hashes, _ = _coloured(root, _colours(root))
    names: dict[str, str] = {}
    return Canonical(_ordered(root, hashes, names), names, applied)


def _ordered(root: HashedNode, hashes: dict[int, bytes], names: dict[str, str]) -> Node:
    """Return a plain tree with sorted operands; given name-free hashes, also rename the variables and fill `names`."""
    top = Node("")
    stack: list[tuple[HashedNode, Node]] = [(root, top)]
    while stack:
        hashed, parent = stack.pop()
        label = hashed.label
        if hashes and label[:2] == "V!":
            label = names.setdefault(label, f"V!v{len(names) + 1}")
        node = Node(label, None, "", hashed.places)
        parent.children.append(node)
        operands = _sorted(hashed, hashes) if hashes else hashed.ordered()
        for operand in reversed(operands):
            stack.append((operand, node))
    return top.children[0]


def _sorted(node: HashedNode, hashes: dict[int, bytes]) -> Sequence[HashedNode]:
    """Return the operands of a node; commutative ones sorted without regard to names."""
    operands = node.operands
    if len(operands) < 2 or not label_of(node.label).commutative:
        return operands
    return sorted(operands, key=lambda one: ("V!" if one.label[:2] == "V!" else one.label, hashes[id(one)]))


def _colours(root: HashedNode) -> dict[str, bytes]:
    """Return a colour for each variable that does not depend on its name: where it occurs, and among which others.

    This is colour refinement (Weisfeiler and Leman): colours are refined as long as more of them differ. Of variables
    that still share a colour, the first to occur gets one of its own and the refinement goes on. When that separates no
    others, the variables are exchangeable and get colours in order of occurrence."""
    colours = dict(root.variables)
    for _ in range(min(_MAX_SPLITS, max(2, _MAX_VISITS // (8 * len(root.breadth_first()))))):
        colours = _refine(root, colours)
        different = len(set(colours.values()))
        if different == len(colours):
            break
        hashes, _ = _coloured(root, colours)
        shared = _first_shared(root, hashes, colours)
        colours[shared[0]] = combine((colours[shared[0]], index_bytes(1)))
        finer = _refine(root, colours)
        if len(set(finer.values())) == different + 1:
            for rank, name in enumerate(shared[1:], 2):
                finer[name] = combine((finer[name], index_bytes(rank)))
        colours = finer
    return colours


def _refine(root: HashedNode, colours: dict[str, bytes]) -> dict[str, bytes]:
    different = len(set(colours.values()))
    for _ in range(_ROUNDS):
        if different == len(colours):
            break
        _, positions = _coloured(root, colours)
        finer = {name: combine([colour, *sorted(positions[name])]) for name, colour in colours.items()}
        count = len(set(finer.values()))
        if count == different:
            break
        colours, different = finer, count
    return colours


def _first_shared(root: HashedNode, hashes: dict[int, bytes], colours: dict[str, bytes]) -> list[str]:
    """Return the variables of the first colour that several share, in order of occurrence."""
    counts: dict[bytes, int] = {}
    for colour in colours.values():
        counts[colour] = counts.get(colour, 0) + 1
    found: dict[str, bytes] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        name = node.label
        if name in colours and counts[colours[name]] > 1:
            found.setdefault(name, colours[name])
        stack.extend(reversed(_sorted(node, hashes)))
    first = next(iter(found.values()))
    return [name for name, colour in found.items() if colour == first]


def _coloured(root: HashedNode, colours: dict[str, bytes]) -> tuple[dict[int, bytes], dict[str, list[bytes]]]:
    """Return hashes in which a variable counts by its colour: of nodes by id, and of variables' surroundings."""
    hashes: dict[int, bytes] = {}
    for node in reversed(root.breadth_first()):
        if id(node) in hashes:
            continue
        if not node.operands:
            colour = colours.get(node.label)
            hashes[id(node)] = node.commutative if colour is None else colour
            continue
        label = label_of(node.label)
        below = [hashes[id(operand)] for operand in node.operands]
        if label.commutative:
            below.sort()
        hashes[id(node)] = combine([label.hash, *below])
    # From the root down: what surrounds each occurrence of a variable.
    positions: dict[str, list[bytes]] = {name: [] for name in colours}
    stack = [(root, hashes[id(root)])]
    while stack:
        node, around = stack.pop()
        if node.label in positions:
            positions[node.label].append(around)
        label = label_of(node.label)
        at = 0
        for operand in node.operands:
            if not label.commutative:
                at += 1
            stack.append((operand, combine((around, hashes[id(operand)], label.hash, index_bytes(at)))))
    return hashes, positions


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
    """Return every sub-expression, breadth first. Formulas share the normal forms, without places."""
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
