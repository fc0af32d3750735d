"""Terms: nodes that carry what makes two of them equal, at every level of equality, as 64-bit numbers.

The numbers come from BLAKE2b of labels, joined by Python's hash of tuples of whole numbers: that one is not salted, so they are the same in
every process; an index notes what `rules.PROBE` was when it was built. `plain` respects the order of operands; `mixed` does not where order is
free; `shape` is `mixed` with every variable blank. `spots` has for each variable one number for all the spots where it stands, whatever the
variables are called; with the shape they decide equality up to renaming (compare hashing modulo alpha-equivalence, Maziarz et al., PLDI
2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from porism.formula.tree import Node

# Functions and groups whose operands may stand in any order, besides the labels that begin with `U!`.
_FREE = frozenset(("F!gcd", "F!lcm", "F!max", "F!min"))


def hash_text(text: str) -> int:
    """A number of 64 bits for a text."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


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

    __slots__ = ("_ordered", "_renamed", "kids", "label", "mixed", "places", "plain", "shape", "spots")

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
        self._renamed: int | None = None
        self._ordered: Sequence[Term] | None = None

    def renamed(self) -> int:
        """The number of the term up to renaming of its variables."""
        if self._renamed is None:
            total = 0
            for spot in self.spots.values():
                # A sum of spots themselves would not keep two variables at one kind of spot apart from one variable at two.
                total += hash((spot, _SPOT))
            self._renamed = hash((self.shape, total))
        return self._renamed

    def ordered(self) -> Sequence[Term]:
        """The operands in the order of the `commutative` level."""
        if self._ordered is None:
            kids = self.kids
            free = len(kids) > 1 and label_hash(self.label)[1]
            self._ordered = sorted(kids, key=_by_content) if free else kids
        return self._ordered

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


def _by_content(term: Term) -> tuple[str, int]:
    return term.label, term.mixed


def leaf(label: str, places: tuple[int, ...] = ()) -> Term:
    """A term without operands."""
    number = hash((label_hash(label)[0],))
    if label[:2] == "V!":
        return Term(label, (), places, number, number, BLANK, {label: _SPOT})
    return Term(label, (), places, number, number, number, _NO_SPOTS)


def make(label: str, kids: Sequence[Term], places: tuple[int, ...] = ()) -> Term:
    """A term from its operands; all its numbers come from theirs."""
    if not kids:
        return leaf(label, places)
    own, free = _hashes.get(label) or label_hash(label)
    plain = hash((own, *[kid.plain for kid in kids]))
    shapes = [kid.shape for kid in kids]
    if free:
        # A sum does not know its order.
        mixed = hash((own, sum([kid.mixed for kid in kids])))
        shape = hash((own, sum(shapes)))
    else:
        mixed = hash((own, *[kid.mixed for kid in kids]))
        shape = hash((own, *shapes))
    spots: dict[str, int] = {}
    at = 0
    for kid in kids:
        if not free:
            at += 1
        if kid.spots:
            edge = (own, at, kid.shape)
            for name, spot in kid.spots.items():
                spots[name] = spots.get(name, 0) + hash((spot, edge))
    return Term(label, kids, places, plain, mixed, shape, spots)
