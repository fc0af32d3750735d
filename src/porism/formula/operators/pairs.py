"""Two adjacent symbols that mean one, such as `:` and `=`."""

from __future__ import annotations

from typing import Final, NamedTuple

from porism.formula.operators.scripts import PLAIN
from porism.formula.operators.table import SYMBOLS, Symbol
from porism.formula.tree import Node

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
