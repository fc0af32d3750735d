"""The stack of open operators of one row, and the nodes of their runs: chains of relations, sums, products, lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from porism.formula.operators.table import ADD, FUN, INFIX, MUL, PREC_ARGUMENT, PREC_IMPLICIT, PREC_WORD, REL, SEP
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
    label, places, scripts = operators[0]
    if len(operators) > 1:
        places = sum((operator.places for operator in operators), ())
    if form == SEP:
        return list_node(operands, places)
    if len(operators) == 1:
        return Node(label, [*operands, *scripts] if scripts else operands, "", places)
    same = all(operator.label == label for operator in operators)
    if form == REL:
        if same and not any(operator.scripts for operator in operators):
            return Node(label, operands, "", places)
        children = [operands[0]]  # `a<b≤c` is a chain with each relation
        for operator, operand in zip(operators, operands[1:], strict=True):
            children.append(Node(operator.label, list(operator.scripts), "", operator.places))
            children.append(operand)
        return Node("O!chain", children)
    if same and label not in _BINARY:
        scripts = sum((operator.scripts for operator in operators), ())
        return Node(label, [*operands, *scripts], "", places)
    return _sum(operators, operands) if form == ADD else _from_left(operators, operands)


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
    first, rest = items[0], items[1:]
    if first.label == "U!eq" and len(first.children) == 2:
        dots = any(item.label == "C!…" for item in rest)  # beside dots names are values too: `1, 2, …, m`
        if all(_is_number(item) or (dots and _is_name(item)) for item in rest):
            values = Node(f"M!L-{len(items)}", [first.children[1], *rest], "", places)
            return Node("U!eq", [first.children[0], values], "", first.places)
    return Node(f"M!L-{len(items)}", items, "", places)


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


class OpenOperator:
    """An operator whose operands are not complete. A prefix has `close`, which makes its node; others have a `run` of
    operators of one precedence."""

    __slots__ = ("close", "form", "prec", "run", "start")

    def __init__(
        self, prec: int, form: int, start: int, run: list[InfixOperator] | None, close: Callable[[Node], Node] | None
    ) -> None:
        self.prec = prec
        self.form = form
        self.start = start
        self.run = run
        self.close = close


class Stack:
    """Operands and open operators. `has_operand` says whether the last token was an operand."""

    __slots__ = ("after_text", "has_operand", "logic", "operands", "operators")

    def __init__(self) -> None:
        self.operands: list[Node] = []
        self.operators: list[OpenOperator] = []
        self.has_operand = False
        self.after_text = False
        self.logic = 0

    def value(self, node: Node, simple: bool = False) -> None:
        """Push an operand. After an operand it multiplies; in a function's argument simple ones only."""
        if self.has_operand:
            self.juxtapose(simple)
        self.operands.append(node)
        self.has_operand = True

    def juxtapose(self, simple: bool) -> None:
        """Join two adjacent operands: a product, or a sequence after words."""
        if self.after_text:
            self.after_text = False
            self.between(INFIX, PREC_WORD, InfixOperator("O!text"))
        elif simple and self.operators and (self.operators[-1].form == FUN or self.operators[-1].prec == PREC_ARGUMENT):
            self.between(MUL, PREC_ARGUMENT, IMPLICIT)
        else:
            self.between(MUL, PREC_IMPLICIT, IMPLICIT)

    def between(self, form: int, prec: int, operator: InfixOperator) -> None:
        """Push an operator: close what binds tighter, join a run of the same kind, or open a new one."""
        operands, operators = self.operands, self.operators
        if not self.has_operand:
            operands.append(Node("W!"))
        while operators and operators[-1].prec > prec:
            self.reduce()
        if operators:
            top = operators[-1]
            if top.prec == prec:
                run = top.run
                if run is not None and top.form == form and (form != INFIX or run[0].label == operator.label):
                    run.append(operator)
                    self.has_operand = False
                    return
                self.reduce()
        operators.append(OpenOperator(prec, form, len(operands) - 1, [operator], None))
        self.has_operand = False

    def prefix(self, form: int, prec: int, close: Callable[[Node], Node]) -> None:
        """Push an operator before its operand."""
        if self.has_operand:
            self.juxtapose(False)
        self.operators.append(OpenOperator(prec, form, len(self.operands), None, close))
        self.has_operand = False

    def reduce(self) -> None:
        """Close the innermost operator."""
        top = self.operators.pop()
        operands = self.operands
        if top.run is None:
            assert top.close is not None
            operands[-1] = top.close(operands[-1])
        else:
            own = operands[top.start :]
            del operands[top.start :]
            operands.append(nary_node(top.form, top.run, own))

    def finish(self) -> Node:
        """Close everything. An operator at the end of the row gets an empty operand."""
        if not self.has_operand:
            self.operands.append(Node("W!"))
        while self.operators:
            self.reduce()
        return self.operands[-1]
