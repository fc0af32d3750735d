"""Brackets and tables: groups, sets, intervals, tuples, matrices, cases, aligned lines."""

from __future__ import annotations

import re
from typing import NamedTuple

from porism.formula.operators.scripts import PLAIN, Parser
from porism.formula.operators.table import REL, SYMBOLS
from porism.formula.tree import Node, elements_of, row_of

_LABEL = re.compile(r"M!(\D*+)(\d++)x(\d++)$", re.S)


class GroupShape(NamedTuple):
    """The brackets of a group or table, and its numbers of rows and columns."""

    fences: str
    rows: int
    columns: int


_shapes: dict[str, GroupShape] = {}

# Brackets around one value, and the label of their node.
_AROUND = {
    "||": "F!abs", "‖‖": "O!norm", "⌊⌋": "F!floor", "⌈⌉": "F!ceiling", "|⟩": "O!ket", "⟨|": "O!bra",
    "⌈⌋": "O!nearest", "⌊⌉": "O!nearest",
}  # fmt: skip
_INTERVALS = {
    "[]": "O!interval(C-C)", "[)": "O!interval(C-O)", "(]": "O!interval(O-C)", "][": "O!interval(O-O)",
    "]]": "O!interval(O-C)", "[[": "O!interval(C-O)",
}  # fmt: skip
_ANGLES = frozenset(("⟨⟩", "⟪⟫"))
_SUCH_THAT = frozenset((":", "|", "∣", ";"))


def group_shape(label: str) -> GroupShape:
    """Return the fences, rows and columns that an `M!` label of a layout tree names."""
    found = _shapes.get(label)
    if found is None:
        match = _LABEL.match(label)
        found = GroupShape(match[1], int(match[2]), int(match[3])) if match else GroupShape(label[2:], 1, 1)
        if len(_shapes) < 10_000:
            _shapes[label] = found
    return found


def elements_of_group(node: Node) -> list[list[Node]]:
    """Return the elements of a group as rows, without the commas at their ends."""
    parts = []
    for head in elements_of(node):
        tokens = row_of(head)
        if tokens[-1].label == "," and len(tokens) > 1:
            tokens.pop()
        parts.append(tokens)
    return parts


def group_value(parser: Parser, node: Node) -> Node:
    """Return the operator tree of a bracket group or table without its scripts."""
    fences, height, width = group_shape(node.label)
    if height > 1:
        return _table(parser, node, fences, height, width)
    parts = elements_of_group(node)
    if len(parts) == 1:
        return _one_element(parser, node, fences, parts[0])
    if fences == "{}" and parts:
        return _set(parser, node, parts)
    items = [parser.row(part) for part in parts]
    if len(items) == 2 and fences in _INTERVALS:
        label = _INTERVALS[fences]
    elif len(items) == 2 and fences in _ANGLES:
        label = "O!inner-product"
    elif fences in ("()", "[]", "⟨⟩", ""):
        label = f"M!V-{len(items)}"
    else:
        label = _AROUND.get(fences, "O!fenced" + fences)
    return Node(label, items, "", node.places)


def _one_element(parser: Parser, node: Node, fences: str, tokens: list[Node]) -> Node:
    first = tokens[0]
    if len(tokens) == 1 and first.label == "O!binom" and first.edges in ("ou", "eou", "oue"):
        children = [parser.chain(first.children[first.edges.index(edge)]) for edge in "ou"]
        return Node("O!binomial" if fences == "()" else "O!binomial" + fences, children, "", node.places + first.places)
    if fences in ("()", ""):
        value = parser.row(tokens)
        if value.label == "W!" and fences and not value.children:
            return Node("M!V-0", None, "", node.places)
        return value
    if fences == "{}":
        return _set(parser, node, [tokens])
    if fences == "[]":
        value = parser.row(tokens)
        alone = len(tokens) == 1 or value.label == "O!colon"
        return Node("M!D-[]", [value], "", node.places) if alone else value
    around = _AROUND.get(fences)
    if around is not None:
        value = parser.row(tokens)
        if around == "F!abs" and value.label[:4] == "M!M-":
            around = "F!det"
        return Node(around, [value], "", node.places)
    if fences in _ANGLES:
        # `⟨a|b⟩` is an inner product too; `⟨x⟩` alone is what x generates.
        for at, token in enumerate(tokens):
            if token.label in ("|", "∣") and 0 < at < len(tokens) - 1:
                sides = [parser.row(tokens[:at]), parser.row(tokens[at + 1 :])]
                return Node("O!inner-product", sides, "", node.places + token.places)
        return Node("M!D-⟨⟩", [parser.row(tokens)], "", node.places)
    return Node("O!fenced" + fences, [parser.row(tokens)], "", node.places)


def _set(parser: Parser, node: Node, parts: list[list[Node]]) -> Node:
    """Read a set, given by its members or by a condition after `:` or a bar."""
    for number, tokens in enumerate(parts):
        for at, token in enumerate(tokens):
            if token.label in _SUCH_THAT and at + number > 0 and token.edges in PLAIN:
                members = [*parts[:number], tokens[:at]] if at else parts[:number]
                conditions = [part for part in [tokens[at + 1 :], *parts[number + 1 :]] if part]
                if not conditions:
                    break
                children = [_sequence(parser, members), _sequence(parser, conditions)]
                return Node("O!conditional-set", children, "", node.places + token.places)
    items = [parser.row(part) for part in parts]
    if len(items) == 1 and items[0].label == "W!" and not items[0].children:
        items = []
    return Node(f"M!S-{len(items)}", items, "", node.places)


def _sequence(parser: Parser, parts: list[list[Node]]) -> Node:
    items = [parser.row(part) for part in parts]
    return items[0] if len(items) == 1 else Node(f"M!L-{len(items)}", items)


def _table(parser: Parser, node: Node, fences: str, height: int, width: int) -> Node:
    cells = [row_of(head) for head in elements_of(node)]
    width = max(1, len(cells) // height) if len(cells) != height * width else width
    lines = [cells[at : at + width] for at in range(0, len(cells), width)]
    if fences == "{":
        return Node("O!cases", [parser.row(cell) for line in lines for cell in line], "", node.places)
    if fences in ("", "1", "."):
        joined = [[token for cell in line for token in cell if token.label != "W!"] for line in lines]
        # A relation next to the alignment mark, `a & = b` or `a = & b`, or anywhere in lines without marks.
        if (
            (width == 1 and any(_is_relation(token) for line in joined for token in line))
            or any(cell and _is_relation(cell[0]) for line in lines for cell in line[1:])
            or any(cell and _is_relation(cell[-1]) for line in lines for cell in line[:-1])
        ):
            return _lines(parser, node, [line for line in joined if line])
    made = [Node("M!R!", [parser.row(cell) for cell in line]) for line in lines]
    matrix = Node(f"M!M-{height}x{width}", made, "", node.places)
    around = _AROUND.get(fences)
    if around is not None:
        return Node("F!det" if around == "F!abs" else around, [matrix])
    return matrix


def _lines(parser: Parser, node: Node, lines: list[list[Node]]) -> Node:
    """Read aligned lines. A line that begins with a relation continues the chain of the line before."""
    formulas: list[list[Node]] = []
    for line in lines:
        if formulas and _is_relation(line[0]):
            formulas[-1].extend(line)
        else:
            formulas.append(list(line))
    items = [parser.row(formula) for formula in formulas]
    if not items:
        return Node("W!", None, "", node.places)
    return items[0] if len(items) == 1 else Node(f"M!L-{len(items)}", items, "", node.places)


def _is_relation(token: Node) -> bool:
    symbol = SYMBOLS.get(token.label)
    return symbol is not None and symbol.form == REL
