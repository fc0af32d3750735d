"""Formula trees as flat arrays of label codes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.formula.layout.tuples import escape
from porism.formula.tree import Node
from porism.systems.arrays import Array, Flags, Floats, Ints, Small, starts_of

WILDCARD, UNORDERED = ord("?"), ord("U")


class LabelClasses(NamedTuple):
    """What alignment needs to know of each label id: `ranks` order labels as text; `kinds` is the character before `!`,
    0 without a type.

    `short` marks variables of one letter, `numeric` labels whose value reads as a number, `groups` the kind of an
    operator tree's group.
    """

    ranks: Floats
    kinds: Small
    short: Flags
    numeric: Flags
    rows: Small
    columns: Small
    groups: Small

    @property
    def unordered(self) -> Flags:
        """Which labels are operators whose operands have no order."""
        return np.asarray(self.kinds == UNORDERED)


class Labels:
    """The distinct labels of a forest in the order of their text: the id of a label is its position."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        self.ids = {text: number for number, text in enumerate(self.texts)}
        self._numberings: dict[str, tuple[dict[str, int], Small]] = {}

    @classmethod
    def of(cls, roots: Iterable[Node]) -> Labels:
        """Collect the labels of trees."""
        return cls(sorted({node.label for root in roots for node in root.walk()}))

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def classes(self) -> LabelClasses:
        """The classes of all labels."""
        return _classes(self.texts, np.arange(len(self), dtype=np.float64))

    def numbering(self, name: str, symbol_of: Callable[[str], str]) -> tuple[dict[str, int], Small]:
        """Return the numbers of symbols, and that of each label's symbol; `name` says which function it is."""
        if name not in self._numberings:
            known: dict[str, int] = {}
            numbers = [known.setdefault(symbol_of(text), len(known)) for text in self.texts]
            self._numberings[name] = known, np.array(numbers, np.int32)
        return self._numberings[name]

    def extended(self, root: Node) -> QueryLabels:
        """Return the ids for a query tree, whose unknown labels get ids after the known ones."""
        labels = {node.label for node in root.walk()}
        unknown = sorted(labels - self.ids.keys())
        ids = {text: self.ids[text] for text in labels if text in self.ids}
        ids |= {text: len(self) + at for at, text in enumerate(unknown)}
        # The rank of an unknown label is between those of its neighbours.
        ranks = [bisect_left(self.texts, text) - 1 + (at + 1) / (len(unknown) + 1) for at, text in enumerate(unknown)]
        more = _classes(unknown, np.array(ranks, np.float64))
        pairs: Iterable[tuple[Array, Array]] = zip(self.classes, more, strict=True)
        return QueryLabels(self, unknown, ids, LabelClasses(*(np.concatenate(pair) for pair in pairs)))


class QueryLabels(NamedTuple):
    """Label ids that also cover the labels of one query: `ids` of the query's labels, `classes` of all labels."""

    labels: Labels
    unknown: list[str]
    ids: dict[str, int]
    classes: LabelClasses

    def symbols(self, name: str, symbol_of: Callable[[str], str]) -> Small:
        """Return for each label id the number of its symbol, also for the labels that only the query has."""
        known, numbers = self.labels.numbering(name, symbol_of)
        new: dict[str, int] = {}
        more = []
        for text in self.unknown:
            symbol = symbol_of(text)
            number = known.get(symbol)
            more.append(new.setdefault(symbol, len(known) + len(new)) if number is None else number)
        return np.concatenate((numbers, np.array(more, np.int32)))


def _classes(texts: Sequence[str], ranks: Floats) -> LabelClasses:
    """Return the classes of labels, computed as Tangent-S does on the escaped text."""
    size = len(texts)
    kinds, groups = np.zeros(size, np.int32), np.zeros(size, np.int32)
    short, numeric = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    rows, columns = np.ones(size, np.int32), np.ones(size, np.int32)
    for at, text in enumerate(texts):
        if text[:1] == "?" and len(text) > 1:
            kinds[at] = WILDCARD
        elif text[1:2] == "!":
            kinds[at] = ord(text[0])
            short[at] = len(escape(text)) == 3
            numeric[at] = text[0] == "N" and _is_number(text[2:])
            groups[at] = ord(text[2]) if text[0] == "M" and len(text) > 2 else 0
            rows[at], columns[at] = matrix_size(text) if text[0] == "M" else (1, 1)
    return LabelClasses(ranks, kinds, short, numeric, rows, columns, groups)


def matrix_size(label: str) -> tuple[int, int]:
    """Return rows and columns of a layout tree's group `M!()1x3`; of any other label 1 and 1."""
    head, mark, tail = label.partition("x")
    digits = head[len(head.rstrip("0123456789")) :]
    # Digits of other scripts and sizes beyond any formula are not sizes.
    fits = mark and digits and tail.isdecimal() and len(digits) < 6 and len(tail) < 6
    return (max(int(digits), 1), max(int(tail), 1)) if fits else (1, 1)


def _is_number(text: str) -> bool:
    try:
        float(text.split("!")[0].strip())
    except ValueError:
        return False
    return True


# The order in which Tangent-S visits the children of a layout tree.
VISIT_ORDER = "aocnbudew"
FIRST_ELEMENT = 16  # slots from here on are the elements of a group or matrix, or what is within a root
SLOTS = {edge: slot for slot, edge in enumerate("naboucd")} | {"w": FIRST_ELEMENT}
MAX_OPERANDS = 62  # of one operator, as in Tangent-S, which numbers them by one character; further ones are left out
MAX_NODES = 2000  # of one tree; the rest of a larger one is left out
_FIRST, _NEXT = 2, 3


class Forest(NamedTuple):
    """Trees, one after the other. Tree i has the nodes `starts[i]` to `starts[i + 1]`, in the order of Tangent-S.

    All positions are relative to the start of the tree, -1 where there is none. `parents` are those of the tree.
    `firsts` and `nexts` are the first child and the next sibling for alignment: all elements of a group count as
    children of the group. `slots` say which child a node is: the edge or element of a layout tree, the position of an
    operand.
    """

    starts: Ints
    labels: Small
    parents: npt.NDArray[np.int16]
    firsts: npt.NDArray[np.int16]
    nexts: npt.NDArray[np.int16]
    slots: npt.NDArray[np.int16]

    @property
    def size(self) -> int:
        """The number of trees."""
        return len(self.starts) - 1


def make_forest(roots: Iterable[Node], ids: Mapping[str, int]) -> Forest:
    """Flatten trees; every label must have an id."""
    return _forest([_flatten(root, ids) for root in roots])


def _forest(parts: list[Small]) -> Forest:
    columns = np.concatenate(parts, axis=1) if parts else np.empty((5, 0), np.int32)
    sizes = [part.shape[1] for part in parts]
    return Forest(starts_of(sizes), columns[0], *(column.astype(np.int16) for column in columns[1:]))


class ForestBuilder:
    """Collects distinct trees one by one; equal trees get the same number."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._known: dict[bytes, int] = {}
        self._parts: list[Small] = []

    def add(self, root: Node) -> int:
        """Return the number of a tree."""
        for node in root.walk():
            self._ids.setdefault(node.label, len(self._ids))
        part = _flatten(root, self._ids)
        key = blake2b(part.tobytes(), digest_size=16).digest()
        number = self._known.setdefault(key, len(self._known))
        if number == len(self._parts):
            self._parts.append(part)
        return number

    def finish(self) -> tuple[Forest, Labels]:
        """Return the trees, with label ids in the order of the labels' text."""
        labels, forest = Labels(sorted(self._ids)), _forest(self._parts)
        order = np.array([labels.ids[text] for text in self._ids], np.int32)
        return forest._replace(labels=order[forest.labels] if len(order) else forest.labels), labels


def _flatten(root: Node, ids: Mapping[str, int]) -> Small:
    """Return five rows: labels, parents, first children, next siblings and slots of one tree."""
    rows: list[list[int]] = []  # one for each node, with what the result has as columns
    last_child: list[int] = []
    # A node waits with its parent, the parent for alignment, and its slot.
    stack: list[tuple[Node, int, int, int]] = [(root, -1, -1, 0)]
    while stack and len(rows) < MAX_NODES:
        node, parent, above, slot = stack.pop()
        at = len(rows)
        rows.append([ids[node.label], parent, -1, -1, min(slot, 32_000)])
        last_child.append(-1)
        if above >= 0:
            if last_child[above] < 0:
                rows[above][_FIRST] = at
            else:
                rows[last_child[above]][_NEXT] = at
            last_child[above] = at
        stack.extend(reversed(_children(node, at, above, slot)))
    return np.ascontiguousarray(np.array(rows, np.int32).T)


def _children(node: Node, at: int, above: int, slot: int) -> list[tuple[Node, int, int, int]]:
    """Return the children of a node with parent, parent for alignment, and slot."""
    if not node.edges:
        return [(child, at, at, number) for number, child in enumerate(node.children[:MAX_OPERANDS])]
    pairs = sorted(zip(node.edges, node.children, strict=True), key=lambda pair: VISIT_ORDER.index(pair[0]))
    return [(child, at, above, slot + 1) if edge == "e" else (child, at, at, SLOTS[edge]) for edge, child in pairs]


@compiled
def is_followed(forest: Forest, begin: int, node: int) -> bool:
    """Return whether something follows a node of the tree that begins there: on the baseline, or as first operand."""
    below = forest.firsts[begin + node]
    while below >= 0:
        if forest.slots[begin + below] == 0:
            return True
        below = forest.nexts[begin + below]
    return False
