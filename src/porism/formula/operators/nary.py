"""Nodes with many operands, from a run of operators of one precedence: chains of relations, sums, products, lists."""

from __future__ import annotations

from typing import NamedTuple

from porism.formula.operators.table import ADD, REL, SEP
from porism.formula.tree import Node


class InfixOperator(NamedTuple):
    """An operator between two operands: the label of its node, its places, and its scripts (`⊗_R`)."""

    label: str
    places: tuple[int, ...] = ()
    scripts: tuple[Node, ...] = ()


IMPLICIT = InfixOperator("U!times")
_BINARY = frozenset(("O!divide-slash", "O!divide-obelus", "O!colon", "O!given", "O!setdiff", "O!rem", "O!modulo"))
_NAMES = frozenset(("O!SUB", "O!prime"))
_LISTING_RELATIONS = frozenset(
    [
        "O!colon", "O!in", "O!notin", "O!lt", "O!gt", "O!leq", "O!geq", "O!leq-slant", "O!geq-slant", "O!subset",
        "O!subseteq", "U!neq",
    ],
)  # fmt: skip


def nary_node(form: int, operators: list[InfixOperator], operands: list[Node]) -> Node:
    """Return the node of a run of operators of one precedence and the operands between them."""
    first = operators[0]
    if len(operators) == 1:
        label, places, scripts = first
        if form == SEP:
            return list_node(operands, places)
        if scripts:
            return Node(label, [*operands, *scripts], "", places)
        return Node(label, operands, "", places)
    if form == SEP:
        return list_node(operands, _places(operators))
    label = first.label
    same = all(operator.label == label for operator in operators)
    if form == REL:
        return _relation(operators, operands, same)
    if same and label not in _BINARY:
        scripts = sum((operator.scripts for operator in operators), ())
        return Node(label, [*operands, *scripts], "", _places(operators))
    if form == ADD:
        return _sum(operators, operands)
    return _from_left(operators, operands)


def _places(operators: list[InfixOperator]) -> tuple[int, ...]:
    if len(operators) == 1:
        return operators[0].places
    return sum((operator.places for operator in operators), ())


def _relation(operators: list[InfixOperator], operands: list[Node], same: bool) -> Node:
    """Return the node of relations: `a<b<c` has three operands, `a<b≤c` is a chain with each relation."""
    if same and not any(operator.scripts for operator in operators):
        return Node(operators[0].label, operands, "", _places(operators))
    children = [operands[0]]
    for operator, operand in zip(operators, operands[1:], strict=True):
        children.append(Node(operator.label, list(operator.scripts), "", operator.places))
        children.append(operand)
    return Node("O!chain", children)


def _sum(operators: list[InfixOperator], operands: list[Node]) -> Node:
    """Return one flat sum of pluses and minuses; `±` splits it."""
    value = operands[0]
    terms = [value]
    places: tuple[int, ...] = ()
    for operator, operand in zip(operators, operands[1:], strict=True):
        if operator.label == "U!plus" and not operator.scripts:
            terms.append(operand)
            places += operator.places
        elif operator.label == "O!minus" and not operator.scripts:
            terms.append(Node("O!minus", [operand], "", operator.places))
        else:
            left = Node("U!plus", terms, "", places) if len(terms) > 1 else terms[0]
            terms = [Node(operator.label, [left, operand, *operator.scripts], "", operator.places)]
            places = ()
    return Node("U!plus", terms, "", places) if len(terms) > 1 else terms[0]


def _from_left(operators: list[InfixOperator], operands: list[Node]) -> Node:
    """Combine operators from left to right. Equal adjacent operators that are not binary share a node."""
    value = operands[0]
    open_label = ""
    for operator, operand in zip(operators, operands[1:], strict=True):
        if operator.label == open_label and not operator.scripts:
            value.children.append(operand)
            value.places += operator.places
        else:
            value = Node(operator.label, [value, operand, *operator.scripts], "", operator.places)
            open_label = "" if operator.label in _BINARY or operator.scripts else operator.label
    return value


def list_node(items: list[Node], places: tuple[int, ...]) -> Node:
    """Return a list. In `x, y ∈ A` all names belong to the relation, in `n = 1, 2` all values do."""
    while len(items) > 1 and items[-1].label == "W!" and not items[-1].children:
        items = items[:-1]
    if len(items) == 1:
        return items[0]
    last = items[-1]
    if (
        last.label in _LISTING_RELATIONS
        and last.children
        and _is_name(last.children[0])
        and all(map(_is_name, items[:-1]))
    ):
        names = Node(f"M!L-{len(items)}", [*items[:-1], last.children[0]], "", places)
        return Node(last.label, [names, *last.children[1:]], "", last.places)
    first = items[0]
    if first.label == "U!eq" and len(first.children) == 2 and _are_values(items[1:]):
        values = Node(f"M!L-{len(items)}", [first.children[1], *items[1:]], "", places)
        return Node("U!eq", [first.children[0], values], "", first.places)
    return Node(f"M!L-{len(items)}", items, "", places)


def _are_values(items: list[Node]) -> bool:
    """Check for numbers or dots, also names beside dots: `1, 2, …, m`."""
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
