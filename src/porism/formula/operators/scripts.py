"""What hangs on a symbol: indices, powers, and the superscripts that are not powers."""

from __future__ import annotations

from typing import Protocol

from porism.formula.operators.table import FUNCTIONS
from porism.formula.tree import Node, row_of


class Rows(Protocol):
    """Reads a row of a layout tree; the parts of the operator reader know each other through this.

    `unsure` collects the guesses between application and product.
    """

    unsure: list[tuple[str, Node]]

    def row(self, tokens: list[Node]) -> Node:
        """The operator tree of a row."""

    def chain(self, head: Node) -> Node:
        """The operator tree of the row that begins with this node."""


# Edges that are not scripts.
PLAIN = frozenset(("", "n", "e", "ne", "w", "nw", "we", "nwe"))

_PRIMES = {"′": 1, "″": 2, "‴": 3, "⁗": 4}
# Superscripts of one symbol that are not powers.
_MARKS = {
    "*": "O!star",
    "⋆": "O!star",
    "V!⋆": "O!star",
    "†": "O!dagger",
    "‡": "O!dagger",
    "⊥": "O!perp",
    "⟂": "O!perp",
    "V!⊥": "O!perp",
    "×": "O!units",
    "∘": "O!degree",
    "V!°": "O!degree",
    "°": "O!degree",
    "V!⊤": "O!transpose",
    "⊤": "O!transpose",
    "⊺": "O!transpose",
    "∨": "O!dual",
    "♯": "O!sharp",
    "♭": "O!flat",
}
_SIGNS = {"+": "U!plus", "−": "O!minus", "±": "O!plus-or-minus"}
# What stands over or under a symbol.
_ACCENTS = {
    "¯": "O!bar",
    "^": "O!hat",
    "~": "O!tilde",
    "∼": "O!tilde",
    "˙": "O!time-derivative",
    "¨": "O!time-derivative-2",
    "→": "O!vec",
    "⇀": "O!vec",
    "←": "O!vec-left",
    "↔": "O!vec-both",
    "ˇ": "O!check",
    "˘": "O!breve",
    "´": "O!acute",
    "`": "O!grave",
    "˚": "O!ring",
    "∘": "O!ring",
    "⏞": "O!overbrace",
    "⏟": "O!underbrace",
    "⎴": "O!overbracket",
    "⎵": "O!underbracket",
    "⌢": "O!arc",
    "⏜": "O!arc",
    "⏠": "O!arc",
}


_orders: dict[str, tuple[tuple[str, int], ...]] = {}


def _scripts(edges: str) -> tuple[tuple[str, int], ...]:
    """The scripts among the edges of a token, nearest first, and where they stand among its children."""
    found = _orders.get(edges)
    if found is None:
        found = _orders[edges] = tuple((edge, edges.index(edge)) for edge in "oubadc" if edge in edges)
    return found


def scripted(rows: Rows, value: Node, token: Node) -> Node:
    """A value with everything that hangs on its token, nearest first: over, under, below, above, before."""
    children = token.children
    for edge, at in _scripts(token.edges):
        child = children[at]
        if edge in "ou":
            value = _over(rows, value, child, edge, token.label)
        elif edge == "b":
            value = Node("O!SUB", [value, rows.chain(child)])
        elif edge == "a":
            value = above(rows, value, row_of(child))
        else:
            value = Node("O!presub" if edge == "d" else "O!presup", [value, rows.chain(child)])
    return value


def _over(rows: Rows, value: Node, child: Node, edge: str, label: str) -> Node:
    accent = _ACCENTS.get(child.label)
    if accent is not None and "n" not in child.edges:
        if edge == "u" and accent == "O!bar":
            accent = "O!underline"
        notes = [rows.chain(note) for kind, note in zip(child.edges, child.children, strict=True) if kind in "ouab"]
        return Node(accent, [value, *notes], "", child.places)
    if label[1:2] != "!":
        # The layout has the scripts of operators (and wildcards) over and under them.
        return above(rows, value, row_of(child)) if edge == "o" else Node("O!SUB", [value, rows.chain(child)])
    return Node("O!over" if edge == "o" else "O!under", [value, rows.chain(child)])


def above(rows: Rows, value: Node, tokens: list[Node]) -> Node:
    """A superscript: primes first, then a mark, an inverse, an index in brackets, or a power."""
    primes = 0
    places: tuple[int, ...] = ()
    at = 0
    while at < len(tokens):
        count = _prime_count(tokens[at].label)
        if not count:
            break
        primes += count
        places += tokens[at].places
        at += 1
    if primes:
        value = Node("O!prime" if primes == 1 else f"O!prime-{primes}", [value], "", places)
        nested = tokens[at - 1].child("o") or tokens[at - 1].child("a")
        if nested is not None:
            value = above(rows, value, row_of(nested))
        tokens = tokens[at:]
        if not tokens:
            return value
    return _power(rows, value, tokens)


def _prime_count(label: str) -> int:
    count = _PRIMES.get(label)
    if count is None:
        count = len(label) if label and not label.strip("′") else 0
    return count


def _power(rows: Rows, value: Node, tokens: list[Node]) -> Node:
    first = tokens[0]
    if len(tokens) == 1:
        label = first.label
        mark = _MARKS.get(label)
        if mark is not None and first.edges in PLAIN:
            return Node(mark, [value], "", first.places)
        if label in ("V!T", "V!𝐓", "V!𝖳", "V!𝑇") and first.edges in PLAIN and _may_be_matrix(value):
            return Node("O!transpose", [value], "", first.places)
        sign = _SIGNS.get(label)
        if sign is not None:
            made = "O!limit-from" if value.label[:2] == "N!" else "O!SUP"
            return Node(made, [value, Node(sign, None, "", first.places)])
        if label[:2] == "M!" and label[2:] in ("()1x1", "[]1x1") and first.edges in PLAIN and _is_name(value):
            return Node("O!upper", [value, rows.row(tokens)], "", first.places)
    elif len(tokens) == 2 and first.label == "−" and tokens[1].label == "N!1" and is_function_like(value):
        return Node("O!inverse", [value], "", first.places + tokens[1].places)
    return Node("O!SUP", [value, rows.row(tokens)])


def _is_name(value: Node) -> bool:
    """A letter, perhaps with an index or a prime: what carries an index in brackets. A number in brackets has a power."""
    while value.label in ("O!SUB", "O!prime") and value.children:
        value = value.children[0]
    return value.label[:2] in ("V!", "F!")


def _may_be_matrix(value: Node) -> bool:
    while value.label in ("O!SUB", "O!hat", "O!bar", "O!tilde", "O!prime") and value.children:
        value = value.children[0]
    label = value.label
    if label[:2] == "V!":
        return len(label) > 3 or not ("a" <= label[2] <= "z") or label[2] in "uvwxyz"
    return label[:2] not in ("N!", "C!")


def is_function_like(value: Node) -> bool:
    """A letter that usually names a function, or the name of one."""
    while value.label in ("O!SUB", "O!hat", "O!bar", "O!tilde", "O!prime") and value.children:
        value = value.children[0]
    label = value.label
    return label[:2] == "F!" or (label[:2] == "V!" and label[2:] in FUNCTIONS and label[2:] not in "PQTLKNSUDW")
