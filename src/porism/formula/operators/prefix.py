"""Operators that wait for what follows them: signs, functions without brackets, limits, sums, quantifiers."""

from __future__ import annotations

from porism.formula.operators.scripts import Rows, above
from porism.formula.operators.table import QUANT, REL, SYMBOLS
from porism.formula.tree import Node, row_of

_BINDER_ENDS = frozenset((",", ":", ";", ".", "∣", "|", "⇒", "⇔"))


def bounds(rows: Rows, token: Node) -> list[Node]:
    """What stands below and above a big operator: nothing, the lower bound, or both."""
    under = token.child("u") or token.child("b")
    over = token.child("o") or token.child("a")
    if under is None and over is None:
        return []
    lower = rows.chain(under) if under is not None else Node("W!")
    return [lower] if over is None else [lower, rows.chain(over)]


def with_bounds(rows: Rows, label: str, token: Node, parts: list[Node]) -> Node:
    """A sum, product, limit or integral with its parts, then its bounds."""
    return Node(label, [*parts, *bounds(rows, token)], "", token.places)


def marked(rows: Rows, label: str, token: Node, operands: list[Node]) -> Node:
    """A prefix such as `∂_x f`: the label says that something hangs on the operator, and it comes last."""
    under = token.child("u") or token.child("b")
    over = token.child("o") or token.child("a")
    children = list(operands)
    if under is not None:
        label += "_"
        children.append(rows.chain(under))
    if over is not None:
        label += "^"
        children.append(rows.chain(over))
    return Node(label, children, "", token.places)


def function_node(rows: Rows, label: str, token: Node, arguments: list[Node]) -> Node:
    """A named function: `sin²x` is the square of `sin x`, `sin⁻¹x` the inverse function of x, `log_2 n` has its base last."""
    under = token.child("b") or token.child("u")
    if under is not None:
        arguments = [*arguments, rows.chain(under)]
        label += "_"
    over = token.child("a") or token.child("o")
    if over is None:
        return Node(label, arguments, "", token.places)
    tokens = row_of(over)
    if len(tokens) == 2 and tokens[0].label == "−" and tokens[1].label == "N!1":
        inverse = Node("O!inverse", [Node(label, None, "", token.places)], "", tokens[0].places + tokens[1].places)
        return Node("O!apply", [inverse, *arguments])
    return above(rows, Node(label, arguments, "", token.places), tokens)


def binder_end(tokens: list[Node], start: int) -> tuple[int, int, int]:
    """Where the bound variables of a quantifier end, where what it says of them begins, and where that ends.

    After a comma or colon it says all that follows; without one it ends before the next implication.
    """
    end, rest = _binder(tokens, start)
    if rest > end or rest >= len(tokens):
        return end, rest, len(tokens)
    for at in range(rest, len(tokens)):
        if tokens[at].label in ("⇒", "⇔", "∧", "∨"):
            return end, rest, at
    return end, rest, len(tokens)


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
    """In `∀x,y ∈ A` the comma parts names, not the binder from the rest."""
    for token in tokens[at + 1 :]:
        if token.label[:2] != "V!" and token.label != ",":
            symbol = SYMBOLS.get(token.label)
            return symbol is not None and symbol.label in ("O!in", "O!gt", "O!geq", "O!subset", "O!subseteq")
    return False
