"""Trees for the edit distance of DPRL, rebuilt from the list of parent-child pairs as its program does.

The program writes the pairs of the tree and end-of-baseline marks, and builds a tree from that list again: a mark goes one level up, and a pair
is attached to the nearest ancestor with the label of its parent. Where labels repeat, this is not always the true parent, and where no ancestor
has that label there is no tree (every feature is then 0). The features depend on it, so it is reproduced.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from porism.formula.tree import Node
from porism.systems.tangent.forest import VISIT_ORDER

_SPELLED = str.maketrans({"{": "$$$", "}": "$$$"})


class EditTree(NamedTuple):
    """A tree in pre-order: labels, and the position of each parent (-1 for the root)."""

    labels: list[str]
    parents: list[int]


class _Step(NamedTuple):
    """A pair of the list; without `lower` it is an end-of-baseline mark."""

    upper: str
    lower: str | None


def type_of(label: str) -> str:
    """Return the type of a label, the text before `!`; a label without a type stays as it is."""
    return label.split("!")[0] if "!" in label else label


def edit_tree(root: Node, types: bool = False) -> EditTree | None:
    """Return the rebuilt tree of labels or of types; None where the list cannot be read again."""
    labels: list[str] = []
    parents: list[int] = []
    current = -1
    for upper, lower in _steps(root):
        upper = _written(upper, types)
        if not labels:
            labels.append(upper)
            parents.append(-1)
            if lower is None:
                continue
            current = 0
        elif current < 0:
            return None
        elif lower is None:
            current = parents[current]
            continue
        while labels[current] != upper:
            current = parents[current]
            if current < 0:
                return None
        assert lower is not None
        labels.append(_written(lower, types))
        parents.append(current)
        current = len(labels) - 1
    return EditTree(labels, parents)


def _written(label: str, types: bool) -> str:
    return (type_of(label) if types else label).translate(_SPELLED)


def _steps(root: Node) -> Iterator[_Step]:
    """Yield parent-child pairs and end-of-baseline marks, depth first."""
    operators = not any(node.edges for node in root.walk())
    stack: list[tuple[Node, Node | None]] = [(root, None)]
    while stack:
        node, above = stack.pop()
        if above is not None:
            yield _Step(above.label, node.label)
        elif node is not root:  # all children are done
            yield _Step(node.label, None)
            continue
        follows = bool(node.children) if operators else "n" in node.edges
        waiting = [] if follows else [_end(node)]
        stack.extend(waiting)
        stack.extend((child, node) for child in reversed(_in_order(node)))


def _end(node: Node) -> tuple[Node, None]:
    return Node(node.label), None


def _in_order(node: Node) -> list[Node]:
    if not node.edges:
        return node.children
    return [node.children[node.edges.index(edge)] for edge in VISIT_ORDER if edge in node.edges]
