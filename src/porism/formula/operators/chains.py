"""What a run of operators of one precedence becomes: relation chains, sums, products."""

from __future__ import annotations

from typing import NamedTuple

from porism.formula.operators.table import ADD, REL, SEP
from porism.formula.tree import Node


class Mark(NamedTuple):
    """An operator as it stands between two operands: the label of its node, its places, what hangs on it (`⊗_R`)."""

    label: str
    places: tuple[int, ...] = ()
    extras: tuple[Node, ...] = ()


IMPLICIT = Mark("U!times")
_BINARY = frozenset(("O!divide-slash", "O!divide-obelus", "O!colon", "O!given", "O!setdiff", "O!rem", "O!modulo"))
_NAMES = frozenset(("O!SUB", "O!prime"))
_MEMBERS = frozenset(
    [
        "O!colon",
        "O!in",
        "O!notin",
        "O!lt",
        "O!gt",
        "O!leq",
        "O!geq",
        "O!leq-slant",
        "O!geq-slant",
        "O!subset",
        "O!subseteq",
        "U!neq",
    ],
)


def build(form: int, marks: list[Mark], operands: list[Node]) -> Node:
    """One node for a run of operators of one precedence and the operands between them."""
    first = marks[0]
    if len(marks) == 1:
        label, places, extras = first
        if form == SEP:
            return listed(operands, places)
        if extras:
            return Node(label, [*operands, *extras], "", places)
        return Node(label, operands, "", places)
    if form == SEP:
        return listed(operands, _places(marks))
    label = first.label
    same = all(mark.label == label for mark in marks)
    if form == REL:
        return _relation(marks, operands, same)
    if same and label not in _BINARY:
        extras = sum((mark.extras for mark in marks), ())
        return Node(label, [*operands, *extras], "", _places(marks))
    if form == ADD:
        return _sum(marks, operands)
    return _fold(marks, operands)


def _places(marks: list[Mark]) -> tuple[int, ...]:
    if len(marks) == 1:
        return marks[0].places
    return sum((mark.places for mark in marks), ())


def _relation(marks: list[Mark], operands: list[Node], same: bool) -> Node:
    """`a<b<c` is one node with three operands; `a<b≤c` a chain in which each relation stands between its operands."""
    if same and not any(mark.extras for mark in marks):
        return Node(marks[0].label, operands, "", _places(marks))
    children = [operands[0]]
    for mark, operand in zip(marks, operands[1:], strict=True):
        children.append(Node(mark.label, list(mark.extras), "", mark.places))
        children.append(operand)
    return Node("O!chain", children)


def _sum(marks: list[Mark], operands: list[Node]) -> Node:
    """Pluses and minuses of one run make one flat sum; `±` splits it."""
    value = operands[0]
    terms = [value]
    places: tuple[int, ...] = ()
    for mark, operand in zip(marks, operands[1:], strict=True):
        if mark.label == "U!plus" and not mark.extras:
            terms.append(operand)
            places += mark.places
        elif mark.label == "O!minus" and not mark.extras:
            terms.append(Node("O!minus", [operand], "", mark.places))
        else:
            left = Node("U!plus", terms, "", places) if len(terms) > 1 else terms[0]
            terms = [Node(mark.label, [left, operand, *mark.extras], "", mark.places)]
            places = ()
    return Node("U!plus", terms, "", places) if len(terms) > 1 else terms[0]


def _fold(marks: list[Mark], operands: list[Node]) -> Node:
    """From left to right; equal neighbours that are not binary share a node."""
    value = operands[0]
    open_label = ""
    for mark, operand in zip(marks, operands[1:], strict=True):
        if mark.label == open_label and not mark.extras:
            value.children.append(operand)
            value.places += mark.places
        else:
            value = Node(mark.label, [value, operand, *mark.extras], "", mark.places)
            open_label = "" if mark.label in _BINARY or mark.extras else mark.label
    return value


def listed(items: list[Node], places: tuple[int, ...]) -> Node:
    """A list. In `x, y ∈ A` the names before the last belong to the relation: both are members."""
    while len(items) > 1 and items[-1].label == "W!" and not items[-1].children:
        items = items[:-1]
    if len(items) == 1:
        return items[0]
    last = items[-1]
    if last.label in _MEMBERS and last.children and _is_name(last.children[0]) and all(map(_is_name, items[:-1])):
        names = Node(f"M!L-{len(items)}", [*items[:-1], last.children[0]], "", places)
        return Node(last.label, [names, *last.children[1:]], "", last.places)
    first = items[0]
    if first.label == "U!eq" and len(first.children) == 2 and _are_values(items[1:]):
        values = Node(f"M!L-{len(items)}", [first.children[1], *items[1:]], "", places)
        return Node("U!eq", [first.children[0], values], "", first.places)
    return Node(f"M!L-{len(items)}", items, "", places)


def _are_values(items: list[Node]) -> bool:
    """Numbers or dots, also names after dots: in `n = 1, 2, …, m` the values after the first belong to the relation too."""
    dots = any(item.label == "C!…" for item in items)
    return all(_is_number(item) or (dots and _is_name(item)) for item in items)


def _is_number(node: Node) -> bool:
    label = node.label
    if label == "O!minus" and len(node.children) == 1:
        label = node.children[0].label
    return label[:2] == "N!" or label == "C!…"


def _is_name(node: Node) -> bool:
    label = node.label
    if label in _NAMES and node.children:
        label = node.children[0].label
    return label[:2] in ("V!", "C!")
