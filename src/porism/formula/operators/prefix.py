"""Nodes of prefix operators: functions, limits, sums and other big operators, quantifiers."""

from __future__ import annotations

from typing import NamedTuple

from porism.formula.operators.scripts import Parser, with_superscript
from porism.formula.operators.table import QUANT, REL, SYMBOLS
from porism.formula.tree import Node, row_of

_BINDER_ENDS = frozenset((",", ":", ";", ".", "∣", "|", "⇒", "⇔"))


def bounds(parser: Parser, token: Node) -> list[Node]:
    """Return the bounds of a big operator: none, the lower bound, or both."""
    under = token.child("u") or token.child("b")
    over = token.child("o") or token.child("a")
    if under is None and over is None:
        return []
    lower = parser.chain(under) if under is not None else Node("W!")
    return [lower] if over is None else [lower, parser.chain(over)]


def with_bounds(parser: Parser, label: str, token: Node, parts: list[Node]) -> Node:
    """Return a sum, product, limit or integral with its parts, then its bounds."""
    return Node(label, [*parts, *bounds(parser, token)], "", token.places)


def with_indices(parser: Parser, label: str, token: Node, operands: list[Node]) -> Node:
    """Return an operator with scripts, such as `∂_x f`: marks in the label, and the scripts come last."""
    under = token.child("u") or token.child("b")
    over = token.child("o") or token.child("a")
    children = list(operands)
    if under is not None:
        label += "_"
        children.append(parser.chain(under))
    if over is not None:
        label += "^"
        children.append(parser.chain(over))
    return Node(label, children, "", token.places)


def function_node(parser: Parser, label: str, token: Node, arguments: list[Node]) -> Node:
    """Return a named function: `sin²x` squares `sin x`, `sin⁻¹x` is the inverse, `log_2 n` has its base last."""
    under = token.child("b") or token.child("u")
    if under is not None:
        arguments = [*arguments, parser.chain(under)]
        label += "_"
    over = token.child("a") or token.child("o")
    if over is None:
        return Node(label, arguments, "", token.places)
    tokens = row_of(over)
    if len(tokens) == 2 and tokens[0].label == "−" and tokens[1].label == "N!1":
        inverse = Node("O!inverse", [Node(label, None, "", token.places)], "", tokens[0].places + tokens[1].places)
        return Node("O!apply", [inverse, *arguments])
    return with_superscript(parser, Node(label, arguments, "", token.places), tokens)


class QuantifierScope(NamedTuple):
    """Positions after a quantifier: the end of its bound variables, and the start and end of its statement."""

    variables_end: int
    start: int
    end: int


def quantifier_scope(tokens: list[Node], first: int) -> QuantifierScope:
    """Return the scope of a quantifier whose bound variables begin at `first`.

    After a comma or colon the statement is all that follows; without one it ends before the next implication."""
    variables_end, start = _binder(tokens, first)
    if start > variables_end or start >= len(tokens):
        return QuantifierScope(variables_end, start, len(tokens))
    for at in range(start, len(tokens)):
        if tokens[at].label in ("⇒", "⇔", "∧", "∨"):
            return QuantifierScope(variables_end, start, at)
    return QuantifierScope(variables_end, start, len(tokens))


def _binder(tokens: list[Node], start: int) -> tuple[int, int]:
    size = len(tokens)
    related = False
    for at in range(start, size):
        label = tokens[at].label
        symbol = SYMBOLS.get(label)
        if label in _BINDER_ENDS and at > start:
            if label == "," and _names_follow(tokens, at):
                continue
            if label not in "⇒⇔":
                return at, at + 1
            return (at, at) if related else (start + 1, start + 1)
        if symbol is not None and symbol.form == QUANT:
            return at, at
        if label[:2] == "T!" and at > start:
            return at, at
        if label[:4] == "M!()" and at == start + 1:
            return at, at
        related = related or (symbol is not None and symbol.form == REL)
    if related or size - start <= 1:
        return size, size
    return start + 1, start + 1


def _names_follow(tokens: list[Node], at: int) -> bool:
    """Check that a comma separates bound variables, as in `∀x,y ∈ A`, not the variables from the statement."""
    for token in tokens[at + 1 :]:
        if token.label[:2] != "V!" and token.label != ",":
            symbol = SYMBOLS.get(token.label)
            return symbol is not None and symbol.label in ("O!in", "O!gt", "O!geq", "O!subset", "O!subseteq")
    return False
