"""Many trees in flat arrays, which compiled loops read without touching Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.formula.tree import Node
from porism.systems.tangent.labels import Labels

Array = npt.NDArray[Any]
# The order in which Tangent-S visits the children of a layout tree.
VISIT_ORDER = "aocnbudew"
SLOTS = {edge: slot for slot, edge in enumerate("naboucd")}
FIRST_ELEMENT = 16  # slots from here on are the elements of a group or matrix, or what is within a root
MAX_OPERANDS = 62  # of one operator, as in Tangent-S, which numbers them by one character; further ones are left out
MAX_NODES = 2000  # of one tree; the rest of a larger one is left out


class Forest(NamedTuple):
    """Trees, one after the other. Tree i has the nodes `starts[i]` to `starts[i + 1]`, in the order of Tangent-S.

    All positions are relative to the start of the tree, -1 where there is none. `parents` are those of the tree. `firsts` and `nexts` are the
    first child and the next sibling for alignment: all elements of a group count as children of the group. `slots` say which child a node is:
    the edge or element of a layout tree, the position of an operand.
    """

    starts: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int32]
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
    starts = [0]
    parts: list[Array] = []
    for root in roots:
        parts.append(_flatten(root, ids))
        starts.append(starts[-1] + parts[-1].shape[1])
    return _forest(parts, np.array(starts, np.int64))


def _forest(parts: list[Array], starts: npt.NDArray[np.int64]) -> Forest:
    columns = np.concatenate(parts, axis=1) if parts else np.empty((5, 0), np.int32)
    return Forest(starts, columns[0], *(column.astype(np.int16) for column in columns[1:]))


class ForestBuilder:
    """Collects distinct trees one by one; equal trees get the same number."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._known: dict[bytes, int] = {}
        self._parts: list[Array] = []

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
        starts = np.zeros(len(self._parts) + 1, np.int64)
        np.cumsum([part.shape[1] for part in self._parts], out=starts[1:])
        labels = Labels(sorted(self._ids))
        forest = _forest(self._parts, starts)
        order = np.array([labels.ids[text] for text in self._ids], np.int32)
        return forest._replace(labels=order[forest.labels] if len(order) else forest.labels), labels


def _flatten(root: Node, ids: Mapping[str, int]) -> npt.NDArray[np.int32]:
    """Return five rows: labels, parents, first children, next siblings and slots of one tree."""
    labels: list[int] = []
    parents: list[int] = []
    firsts: list[int] = []
    nexts: list[int] = []
    slots: list[int] = []
    last_child: list[int] = []
    # A node waits with its parent, the parent for alignment, and its slot.
    stack: list[tuple[Node, int, int, int]] = [(root, -1, -1, 0)]
    while stack and len(labels) < MAX_NODES:
        node, parent, above, slot = stack.pop()
        at = len(labels)
        labels.append(ids[node.label])
        parents.append(parent)
        firsts.append(-1)
        nexts.append(-1)
        slots.append(min(slot, 32_000))
        last_child.append(-1)
        if above >= 0:
            if last_child[above] < 0:
                firsts[above] = at
            else:
                nexts[last_child[above]] = at
            last_child[above] = at
        stack.extend(reversed(_children(node, at, above, slot)))
    return np.array((labels, parents, firsts, nexts, slots), np.int32)


def _children(node: Node, at: int, above: int, slot: int) -> list[tuple[Node, int, int, int]]:
    """Return the children of a node with parent, parent for alignment, and slot."""
    if not node.edges:
        return [(child, at, at, number) for number, child in enumerate(node.children[:MAX_OPERANDS])]
    found = []
    for edge, child in sorted(zip(node.edges, node.children, strict=True), key=_visited):
        if edge == "w":
            found.append((child, at, at, FIRST_ELEMENT))
        elif edge == "e":
            found.append((child, at, above, slot + 1))
        else:
            found.append((child, at, at, SLOTS[edge]))
    return found


def _visited(pair: tuple[str, Node]) -> int:
    return VISIT_ORDER.index(pair[0])
