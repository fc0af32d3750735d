"""One tree for spellings that mean the same, at four named levels.

`written` is the operator tree itself. `normalised` applies the rules of `rules.tsv`. `commutative` also orders operands whose order is
free. `renamed` also numbers the variables by first occurrence (`V!v1`, `V!v2`, ...), operands being ordered without regard to names, so
that `a²+b²=c²` and `y²+x²=z²` are one tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from porism.formula.canonical.rules import normal, normal_leaf, normalise
from porism.formula.canonical.terms import Term, label_hash
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
        kids = _by_weight(term, weights) if weights else term.ordered()
        for kid in reversed(kids):
            stack.append((kid, node))
    return top.children[0]


def _by_weight(term: Term, weights: dict[int, int]) -> Sequence[Term]:
    """The operands of a term, those of free operators ordered without regard to names: kind first, then weight."""
    kids = term.kids
    if len(kids) < 2 or not label_hash(term.label)[1]:
        return kids
    return sorted(kids, key=lambda kid: ("V!" if kid.label[:2] == "V!" else kid.label, weights[id(kid)]))


def _colours(root: Term) -> dict[str, int]:
    """A number for each variable that does not depend on its name: where it stands, and among which others.

    Colours are refined as long as more of them differ. Of variables that still share one, the first to stand is set apart and the
    refinement goes on; when that tells no others apart, the variables are exchangeable and are told apart in the order they stand.
    """
    colours = dict(root.spots)
    for _ in range(_splits(root)):
        colours = _refine(root, colours)
        different = len(set(colours.values()))
        if different == len(colours):
            break
        shared = _first_shared(root, _weigh(root, colours)[0], colours)
        colours[shared[0]] = hash((colours[shared[0]], 1))
        finer = _refine(root, colours)
        if len(set(finer.values())) == different + 1:
            for rank, name in enumerate(shared[1:], 2):
                finer[name] = hash((finer[name], rank))
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
        finer = {name: hash((spots[name], colour)) for name, colour in colours.items()}
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
    found: dict[str, int] = {}
    stack = [root]
    while stack:
        term = stack.pop()
        colour = colours.get(term.label, -1)
        if counts.get(colour, 0) > 1:
            found.setdefault(term.label, colour)
        stack.extend(reversed(_by_weight(term, weights)))
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
        below = [weights[id(kid)] for kid in term.kids]
        weights[id(term)] = hash((own, sum(below))) if free else hash((own, *below))
    # From the root down: what surrounds each spot.
    spots = dict.fromkeys(colours, 0)
    stack = [(root, weights[id(root)])]
    while stack:
        term, around = stack.pop()
        if term.label in spots:
            spots[term.label] += around
        own, free = label_hash(term.label)
        at = 0
        for kid in term.kids:
            if not free:
                at += 1
            stack.append((kid, hash((around, weights[id(kid)], own, at))))
    return weights, spots


class Hashes(NamedTuple):
    """The hashes of one sub-expression; `node` is its number in the pre-order of the operator tree, `size` how many nodes it has."""

    node: int
    size: int
    written: int
    normalised: int
    commutative: int
    renamed: int


class Part:
    """What is known of a sub-expression: how many nodes it has, its number as written, its normal form."""

    __slots__ = ("size", "term", "written")

    def __init__(self, size: int, written: int, term: Term) -> None:
        self.size = size
        self.written = written
        self.term = term


_leaves: dict[str, Part] = {}
_parts: dict[int, Part] = {}
_SMALL = 12
_MAX_PARTS = 40_000


def subexpression_hashes(tree: Node) -> list[Hashes]:
    """For every node of an operator tree, 64-bit hashes of the sub-expression below it at every level, in pre-order.

    At `renamed` the variables are renamed within the sub-expression. Equal canonical trees have equal hashes.
    """
    order = _breadth_first(tree)
    return _preorder(order, _parts_of(order))


def parts(tree: Node) -> list[Part]:
    """Every sub-expression of an operator tree, the whole first; their normal forms are shared between formulas and have no places."""
    return _parts_of(_breadth_first(tree))


def _breadth_first(tree: Node) -> list[Node]:
    order = [tree]
    for node in order:
        if node.children:
            order += node.children
    return order


def _parts_of(order: list[Node]) -> list[Part]:
    """The parts of nodes that stand breadth first; small ones come again in other formulas and are kept."""
    flags: list[str] = []
    # Walking backwards, the operands of a node are the part of the list just before those of the node read before it.
    done: list[Part] = [_NOTHING] * len(order)
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
        written = hash((label_hash(label)[0], *[kid.written for kid in kids]))
        done[at] = _parts.get(written) or _part(label, written, kids, flags)
    return done


def _part(label: str, written: int, kids: list[Part], flags: list[str]) -> Part:
    size = 1 + sum([kid.size for kid in kids])
    made = Part(size, written, normal(label, [kid.term for kid in kids], (), flags))
    if size <= _SMALL:
        if len(_parts) >= _MAX_PARTS:
            _parts.clear()
        _parts[written] = made
    return made


def _leaf(label: str) -> Part:
    if len(_leaves) > 50_000:
        _leaves.clear()
    found = _leaves[label] = Part(1, hash((label_hash(label)[0],)), normal_leaf(label))
    return found


_NOTHING = _leaf("W!")


def _preorder(order: list[Node], done: list[Part]) -> list[Hashes]:
    """From breadth-first lists to rows in pre-order."""
    rows: list[Hashes] = [_NO_ROW] * len(order)
    numbers = [0]
    for node, number, part in zip(order, numbers, done, strict=True):
        term = part.term
        rows[number] = Hashes(number, part.size, part.written, term.plain, term.mixed, term.renamed())
        if node.children:
            number += 1
            start = len(numbers)
            for known in done[start : start + len(node.children)]:
                numbers.append(number)
                number += known.size
    return rows


_NO_ROW = Hashes(0, 0, 0, 0, 0, 0)
