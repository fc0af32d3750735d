"""Terms: nodes that carry what makes two of them equal, at every level of equality, as 64-bit numbers.

The numbers come from BLAKE2b of labels and from integer mixing, so they are the same in every process and on every machine.
`plain` respects the order of operands; `mixed` does not where order is free; `shape` is `mixed` with every variable blank. `spots` has for
each variable one number for all the spots where it stands, whatever the variables are called; with the shape they decide equality up to
renaming (compare hashing modulo alpha-equivalence, Maziarz et al., PLDI 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from porism.formula.tree import Node

MASK = (1 << 64) - 1
LOW = (1 << 34) - 1
K1 = 0x9E3779B97F4A7C15
K2 = 0xBF58476D1CE4E5B9
K3 = 0x94D049BB133111EB

# Functions and groups whose operands may stand in any order, besides the labels that begin with `U!`.
_FREE = frozenset(("F!gcd", "F!lcm", "F!max", "F!min"))


def mix(number: int) -> int:
    """Scramble a number of 64 bits (the finaliser of splitmix64)."""
    number &= MASK
    number = ((number ^ (number >> 30)) * K2) & MASK
    number = ((number ^ (number >> 27)) * K3) & MASK
    return number ^ (number >> 31)


# One odd factor a position, so that order counts.
POSITIONS = [mix(at * K1) | 1 for at in range(1, 6001)]


def position(at: int) -> int:
    """The factor of an operand's position."""
    return POSITIONS[at] if at < len(POSITIONS) else mix((at + 1) * K1) | 1


def hash_text(text: str) -> int:
    """A number of 64 bits for a text."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def is_free(label: str) -> bool:
    """Whether the operands of a label may stand in any order."""
    return label[:2] == "U!" or label[:4] == "M!S-" or label in _FREE


_hashes: dict[str, tuple[int, bool]] = {}


def label_hash(label: str) -> tuple[int, bool]:
    """The number of a label, and whether its operands may stand in any order."""
    found = _hashes.get(label)
    if found is None:
        if len(_hashes) > 100_000:
            _hashes.clear()
        found = _hashes[label] = (hash_text(label), is_free(label))
    return found


BLANK = hash_text("a variable")
_NO_SPOTS: dict[str, int] = {}
_SPOT = hash_text("a spot")


class Term:
    """An immutable node with its numbers. `places` is what to light."""

    __slots__ = ("kids", "label", "mixed", "places", "plain", "shape", "spots")

    def __init__(
        self,
        label: str,
        kids: Sequence[Term],
        places: tuple[int, ...],
        plain: int,
        mixed: int,
        shape: int,
        spots: dict[str, int],
    ) -> None:
        self.label = label
        self.kids = kids
        self.places = places
        self.plain = plain
        self.mixed = mixed
        self.shape = shape
        self.spots = spots

    def renamed(self) -> int:
        """The number of the term up to renaming of its variables."""
        total = self.shape
        for spot in self.spots.values():
            # The constant keeps two variables at one kind of spot apart from one variable at two.
            spot = ((spot + _SPOT) * K1) & MASK
            total += (spot ^ (spot >> 29)) * K2
        total &= MASK
        total = ((total ^ (total >> 27)) * K3) & MASK
        return total ^ (total >> 31)

    def node(self) -> Node:
        """The term as a node of an operator tree, however deep it is."""
        root = Node(self.label, None, "", self.places)
        stack = [(self, root)]
        while stack:
            term, node = stack.pop()
            for kid in term.kids:
                child = Node(kid.label, None, "", kid.places)
                node.children.append(child)
                if kid.kids:
                    stack.append((kid, child))
        return root


def leaf(label: str, places: tuple[int, ...] = ()) -> Term:
    """A term without operands."""
    number = mix(label_hash(label)[0])
    if label[:2] == "V!":
        return Term(label, (), places, number, number, BLANK, {label: _SPOT})
    return Term(label, (), places, number, number, number, _NO_SPOTS)


def make(label: str, kids: Sequence[Term], places: tuple[int, ...] = ()) -> Term:
    """A term from its operands; all its numbers come from theirs."""
    if not kids:
        return leaf(label, places)
    own, free = _hashes.get(label) or label_hash(label)
    plain = mixed = shape = own
    spots: dict[str, int] = {}
    for kid, factor in zip(kids, POSITIONS if len(kids) < 6000 else map(position, range(len(kids))), strict=False):
        # Where order is free every position weighs the same.
        weight = 1 if free else factor
        kid_shape = kid.shape
        plain += kid.plain * factor
        mixed += kid.mixed * weight
        shape += kid_shape * weight
        if kid.spots:
            edge = kid_shape ^ own ^ weight
            for name, spot in kid.spots.items():
                spot = ((spot ^ edge) * K1) & MASK
                spot ^= spot >> 32
                spots[name] = spots[name] + spot if name in spots else spot
    plain = ((plain & MASK ^ (plain >> 30 & LOW)) * K2) & MASK
    mixed = ((mixed & MASK ^ (mixed >> 30 & LOW)) * K2) & MASK
    shape = ((shape & MASK ^ (shape >> 30 & LOW)) * K2) & MASK
    return Term(label, kids, places, plain ^ (plain >> 31), mixed ^ (mixed >> 31), shape ^ (shape >> 31), spots)
