"""Scripts: indices, powers, accents, superscripts that are no powers; neighbours that are one symbol: `:` and `=`."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from porism.formula.operators.table import FUNCTIONS, SYMBOLS, Symbol
from porism.formula.tree import Node, row_of


class Guess(NamedTuple):
    """An ambiguous reading: `application` or `product`, and its node."""

    reading: str
    node: Node


class Parser(Protocol):
    """The parser of rows, as the modules of this package see it. It collects the ambiguous readings."""

    guesses: list[Guess]

    def row(self, tokens: list[Node]) -> Node:
        """Return the operator tree of a row."""

    def chain(self, head: Node) -> Node:
        """Return the operator tree of the row that begins with this node."""


# Edges that are not scripts.
PLAIN = frozenset(("", "n", "e", "ne", "w", "nw", "we", "nwe"))

_PRIMES = {"′": 1, "″": 2, "‴": 3, "⁗": 4}
# Superscripts of one symbol that are not powers.
_MARKS = {
    "*": "O!star", "⋆": "O!star", "V!⋆": "O!star", "†": "O!dagger", "‡": "O!dagger", "⊥": "O!perp", "⟂": "O!perp",
    "V!⊥": "O!perp", "×": "O!units", "∘": "O!degree", "V!°": "O!degree", "°": "O!degree", "V!⊤": "O!transpose",
    "⊤": "O!transpose", "⊺": "O!transpose", "∨": "O!dual", "♯": "O!sharp", "♭": "O!flat",
}  # fmt: skip
_SIGNS = {"+": "U!plus", "−": "O!minus", "±": "O!plus-or-minus"}
# Accents over or under a symbol.
_ACCENTS = {
    "¯": "O!bar", "^": "O!hat", "~": "O!tilde", "∼": "O!tilde", "˙": "O!time-derivative", "¨": "O!time-derivative-2",
    "→": "O!vec", "⇀": "O!vec", "←": "O!vec-left", "↔": "O!vec-both", "ˇ": "O!check", "˘": "O!breve", "´": "O!acute",
    "`": "O!grave", "˚": "O!ring", "∘": "O!ring", "⏞": "O!overbrace", "⏟": "O!underbrace", "⎴": "O!overbracket",
    "⎵": "O!underbracket", "⌢": "O!arc", "⏜": "O!arc", "⏠": "O!arc",
}  # fmt: skip
# The scripts among the edges of a token, nearest first, with their positions among its children.
_orders: dict[str, tuple[tuple[str, int], ...]] = {}


def with_scripts(parser: Parser, value: Node, token: Node) -> Node:
    """Add the scripts of a token to its value, nearest first: over, under, below, above, before."""
    edges, children = token.edges, token.children
    order = _orders.get(edges)
    if order is None:
        order = _orders[edges] = tuple((edge, edges.index(edge)) for edge in "oubadc" if edge in edges)
    for edge, at in order:
        child = children[at]
        if edge in "ou":
            value = _over_or_under(parser, value, child, edge, token.label)
        elif edge == "b":
            value = Node("O!SUB", [value, parser.chain(child)])
        elif edge == "a":
            value = with_superscript(parser, value, row_of(child))
        else:
            value = Node("O!presub" if edge == "d" else "O!presup", [value, parser.chain(child)])
    return value


def _over_or_under(parser: Parser, value: Node, child: Node, edge: str, label: str) -> Node:
    accent = _ACCENTS.get(child.label)
    if accent is not None and "n" not in child.edges:
        if edge == "u" and accent == "O!bar":
            accent = "O!underline"
        notes = [parser.chain(note) for kind, note in zip(child.edges, child.children, strict=True) if kind in "ouab"]
        return Node(accent, [value, *notes], "", child.places)
    if label[1:2] != "!":
        # In the layout tree the scripts of operators and wildcards are over and under them.
        if edge == "o":
            return with_superscript(parser, value, row_of(child))
        return Node("O!SUB", [value, parser.chain(child)])
    return Node("O!over" if edge == "o" else "O!under", [value, parser.chain(child)])


def with_superscript(parser: Parser, value: Node, tokens: list[Node]) -> Node:
    """Add a superscript: primes first, then a mark, an inverse, an index in brackets, or a power."""
    primes = 0
    places: tuple[int, ...] = ()
    at = 0
    while at < len(tokens):
        label = tokens[at].label
        count = _PRIMES.get(label) or (len(label) if not label.strip("′") else 0)
        if not count:
            break
        primes += count
        places += tokens[at].places
        at += 1
    if primes:
        value = Node("O!prime" if primes == 1 else f"O!prime-{primes}", [value], "", places)
        nested = tokens[at - 1].child("o") or tokens[at - 1].child("a")
        if nested is not None:
            value = with_superscript(parser, value, row_of(nested))
        tokens = tokens[at:]
        if not tokens:
            return value
    return _power(parser, value, tokens)


def _power(parser: Parser, value: Node, tokens: list[Node]) -> Node:
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
        if (
            label in ("M!()1x1", "M![]1x1")
            and first.edges in PLAIN
            and _bare_label(value, _INDEXED)[:2] in ("V!", "F!")
        ):
            # The superscript of a name in brackets is an index, not a power.
            return Node("O!upper", [value, parser.row(tokens)], "", first.places)
    elif len(tokens) == 2 and first.label == "−" and tokens[1].label == "N!1" and is_function_like(value):
        return Node("O!inverse", [value], "", first.places + tokens[1].places)
    return Node("O!SUP", [value, parser.row(tokens)])


# What a name may have: an index, a prime; and accents.
_INDEXED = frozenset(("O!SUB", "O!prime"))
_ACCENTED = _INDEXED | {"O!hat", "O!bar", "O!tilde"}


def _bare_label(value: Node, around: frozenset[str]) -> str:
    """Return the label of what is inside of these operators."""
    while value.label in around and value.children:
        value = value.children[0]
    return value.label


def _may_be_matrix(value: Node) -> bool:
    label = _bare_label(value, _ACCENTED)
    if label[:2] == "V!":
        return len(label) > 3 or not ("a" <= label[2] <= "z") or label[2] in "uvwxyz"
    return label[:2] not in ("N!", "C!")


def is_function_like(value: Node) -> bool:
    """Check for the name of a function, or a letter that usually is one."""
    label = _bare_label(value, _ACCENTED)
    return label[:2] == "F!" or (label[:2] == "V!" and label[2:] in FUNCTIONS and label[2:] not in "PQTLKNSUDW")


_PAIRS: Final = {
    (":", "="): ":=", ("<", "="): "<=", (">", "="): ">=", ("=", ">"): "⇒", ("−", ">"): "→", ("=", ":"): "=:",
    ("∃", "!"): "∃!", ("<", "<"): "≪", (">", ">"): "≫",
}  # fmt: skip
_FIRST = frozenset(first for first, _ in _PAIRS)
_SECOND = frozenset(second for _, second in _PAIRS)


class PairedSymbol(NamedTuple):
    """A symbol of one or two tokens, the position after them, and their places."""

    symbol: Symbol
    end: int
    places: tuple[int, ...]


def paired_symbol(tokens: list[Node], at: int, symbol: Symbol) -> PairedSymbol:
    """Return the symbol at a position, or that of the pair with the next token."""
    token = tokens[at]
    if at + 1 < len(tokens) and tokens[at + 1].label in _SECOND and token.label in _FIRST and token.edges in PLAIN:
        both = _PAIRS.get((token.label, tokens[at + 1].label))
        if both is not None:
            return PairedSymbol(SYMBOLS[both], at + 2, token.places + tokens[at + 1].places)
    return PairedSymbol(symbol, at + 1, token.places)
