"""One tree for spellings that mean the same, at four named levels.

`written` is the operator tree itself. `normalised` applies the rules of `rules.tsv`. `commutative` also orders operands whose order is
free. `renamed` also numbers the variables by first occurrence (`V!v1`, `V!v2`, ...), operands being ordered without regard to names, so
that `a²+b²=c²` and `y²+x²=z²` are one tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from porism.formula.rules import normal, normal_leaf, normalise
from porism.formula.rules_term import K2, LOW, MASK, POSITIONS, Term, label_hash, mix, position
from porism.formula.tree import Node

Level = Literal["written", "normalised", "commutative", "renamed"]
LEVELS: tuple[Level, ...] = ("written", "normalised", "commutative", "renamed")

# Formulas more symmetric than this are numbered in the order their variables stand: how often exchangeable variables are told apart,
# and how many visits of nodes that may take in all.
_MAX_SPLITS = 32
_MAX_VISITS = 400_000
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Canonical:
    """A canonical tree. `names` maps each variable to its number's label at level `renamed`; `flags` names the rules that guessed."""

    tree: Node
    names: dict[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def canonical(tree: Node, level: Level = "renamed") -> Canonical:
    """The canonical form of an operator tree at a level."""
    if level == "written":
        return Canonical(tree)
    flags: list[str] = []
    term = normalise(tree, flags)
    noted = tuple(dict.fromkeys(flags))
    if level == "normalised":
        return Canonical(term.node(), {}, noted)
    if level == "commutative":
        return Canonical(_ordered(term, {}, {}), {}, noted)
    colours = _colours(term)
    weights = _weigh(term, colours)[0]
    names: dict[str, str] = {}
    return Canonical(_ordered(term, weights, names), names, noted)


def _ordered(root: Term, weights: dict[int, int], names: dict[str, str]) -> Node:
    """The term as a node, free operands in order; with weights also renamed, `names` being filled on the way."""
    top = Node("")
    stack: list[tuple[Term, Node]] = [(root, top)]
    while stack:
        term, parent = stack.pop()
        label = term.label
        if weights and label[:2] == "V!":
            label = names.setdefault(label, f"V!v{len(names) + 1}")
        node = Node(label, None, "", term.places)
        parent.children.append(node)
        kids: Sequence[Term] = term.kids
        if kids and label_hash(term.label)[1]:
            kids = sorted(kids, key=Weight(weights)) if weights else sorted(kids, key=_by_content)
        stack.extend((kid, node) for kid in reversed(kids))
    return top.children[0]


def _by_content(term: Term) -> tuple[str, int]:
    return term.label, term.mixed


class Weight:
    """The key that orders operands without regard to names."""

    __slots__ = ("weights",)

    def __init__(self, weights: dict[int, int]) -> None:
        self.weights = weights

    def __call__(self, term: Term) -> tuple[str, int]:
        """Kind first, then weight."""
        label = term.label
        return ("V!" if label[:2] == "V!" else label), self.weights[id(term)]


def _colours(root: Term) -> dict[str, int]:
    """A number for each variable that does not depend on its name: where it stands, and among which others.

    Colours are refined as long as more of them differ. Of variables that still share one, the first to stand is set apart and the
    refinement goes on; when that tells no others apart, the variables are exchangeable and are told apart in the order they stand.
    """
    colours = {name: mix(spot) for name, spot in root.spots.items()}
    for _ in range(_splits(root)):
        colours = _refine(root, colours)
        different = len(set(colours.values()))
        if different == len(colours):
            break
        shared = _first_shared(root, _weigh(root, colours)[0], colours)
        colours[shared[0]] = mix(colours[shared[0]] + 1)
        finer = _refine(root, colours)
        if len(set(finer.values())) == different + 1:
            for rank, name in enumerate(shared[1:], 2):
                finer[name] = mix(finer[name] + rank)
        colours = finer
    return colours


def _splits(root: Term) -> int:
    order = [root]
    for term in order:
        order.extend(term.kids)
    return min(_MAX_SPLITS, max(2, _MAX_VISITS // (8 * len(order))))


def _refine(root: Term, colours: dict[str, int]) -> dict[str, int]:
    different = len(set(colours.values()))
    for _ in range(_ROUNDS):
        if different == len(colours):
            break
        spots = _weigh(root, colours)[1]
        finer = {name: mix(spots[name] + colour) for name, colour in colours.items()}
        count = len(set(finer.values()))
        if count == different:
            break
        colours, different = finer, count
    return colours


def _first_shared(root: Term, weights: dict[int, int], colours: dict[str, int]) -> list[str]:
    """The variables of the first colour that several share, in the order they stand."""
    counts: dict[int, int] = {}
    for colour in colours.values():
        counts[colour] = counts.get(colour, 0) + 1
    key = Weight(weights)
    found: dict[str, int] = {}
    stack = [root]
    while stack:
        term = stack.pop()
        colour = colours.get(term.label, -1)
        if counts.get(colour, 0) > 1:
            found.setdefault(term.label, colour)
        kids: Sequence[Term] = term.kids
        if kids and label_hash(term.label)[1]:
            kids = sorted(kids, key=key)
        stack.extend(reversed(kids))
    first = next(iter(found.values()))
    return [name for name, colour in found.items() if colour == first]


def _weigh(root: Term, colours: dict[str, int]) -> tuple[dict[int, int], dict[str, int]]:
    """The weight of every part when variables are told apart by colour only, and for each variable the sum over its spots."""
    order = [root]
    for term in order:
        order.extend(term.kids)
    weights: dict[int, int] = {}
    for term in reversed(order):
        if id(term) in weights:
            continue
        if not term.kids:
            colour = colours.get(term.label)
            weights[id(term)] = term.mixed if colour is None else colour
            continue
        own, free = label_hash(term.label)
        for at, kid in enumerate(term.kids):
            own += weights[id(kid)] if free else weights[id(kid)] * position(at)
        weights[id(term)] = mix(own)
    # From the root down: what surrounds each spot.
    spots = dict.fromkeys(colours, 0)
    stack = [(root, mix(weights[id(root)]))]
    while stack:
        term, around = stack.pop()
        if term.label in spots:
            spots[term.label] = (spots[term.label] + around) & MASK
        own, free = label_hash(term.label)
        for at, kid in enumerate(term.kids):
            edge = own if free else own ^ position(at)
            stack.append((kid, mix(around + weights[id(kid)] * 3 + edge)))
    return weights, spots


class Hashes(NamedTuple):
    """The hashes of one sub-expression; `node` is its number in the pre-order of the operator tree, `size` how many nodes it has."""

    node: int
    size: int
    written: int
    normalised: int
    commutative: int
    renamed: int


# What is known of a part: size, hash as written, normal form, hash when renamed.
_Known = tuple[int, int, Term, int]
_leaves: dict[str, _Known] = {}
_parts: dict[int, _Known] = {}
_SMALL = 12
_MAX_PARTS = 40_000


def subexpression_hashes(tree: Node) -> list[Hashes]:
    """For every node of an operator tree, 64-bit hashes of the sub-expression below it at every level, in pre-order.

    At `renamed` the variables are renamed within the sub-expression. Equal canonical trees have equal hashes.
    """
    order = [tree]
    for node in order:
        if node.children:
            order += node.children
    flags: list[str] = []
    # Walking backwards, the operands of a node are the part of the list just before those of the node read before it.
    done: list[_Known] = [_NOTHING] * len(order)
    end = at = len(order)
    for node in reversed(order):
        at -= 1
        label = node.label
        count = len(node.children)
        if not count:
            done[at] = _leaves.get(label) or _leaf(label)
            continue
        kids = done[end - count : end]
        end -= count
        written = label_hash(label)[0]
        for kid, factor in zip(kids, POSITIONS, strict=False):
            written += kid[1] * factor
        written = ((written & MASK ^ (written >> 30 & LOW)) * K2) & MASK
        written ^= written >> 31
        done[at] = _parts.get(written) or _part(written, normal(label, [kid[2] for kid in kids], (), flags), kids)
    return _preorder(order, done)


def _part(written: int, term: Term, kids: list[_Known]) -> _Known:
    """What is to be known of a part; small parts come again in other formulas and are kept."""
    size = 1
    for kid in kids:
        size += kid[0]
    made = (size, written, term, term.renamed())
    if size <= _SMALL:
        if len(_parts) >= _MAX_PARTS:
            _parts.clear()
        _parts[written] = made
    return made


def _leaf(label: str) -> _Known:
    if len(_leaves) > 50_000:
        _leaves.clear()
    term = normal_leaf(label)
    found = _leaves[label] = (1, mix(label_hash(label)[0]), term, term.renamed())
    return found


_NOTHING = _leaf("W!")


def _preorder(order: list[Node], done: list[_Known]) -> list[Hashes]:
    """From breadth-first lists to rows in pre-order."""
    rows: list[Hashes] = [_NO_ROW] * len(order)
    numbers = [0]
    make = tuple.__new__
    for node, number, (size, written, term, renamed) in zip(order, numbers, done, strict=True):
        rows[number] = make(Hashes, (number, size, written, term.plain, term.mixed, renamed))
        if node.children:
            number += 1
            start = len(numbers)
            for known in done[start : start + len(node.children)]:
                numbers.append(number)
                number += known[0]
    return rows


_NO_ROW = Hashes(0, 0, 0, 0, 0, 0)
