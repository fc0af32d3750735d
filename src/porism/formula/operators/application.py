"""Decide whether a letter before a bracket is a function or a factor."""

from __future__ import annotations

from typing import NamedTuple

from porism.formula.operators.groups import elements_of_group, group_shape
from porism.formula.operators.scripts import PLAIN, Parser
from porism.formula.operators.table import ADD, FACTORS, FUNCTIONS, SYMBOLS
from porism.formula.tree import Node, row_of

# Letters of rings and fields: square brackets after them contain indeterminates.
_RINGS = frozenset("RKkFA𝔽𝕂")
_BRACKETS = frozenset(("()", "[]", "{}"))
_TRANSFORMS = frozenset(("V!ℱ", "V!ℒ", "V!𝒵", "V!𝔼"))


def arguments_of(token: Node, head: str = "") -> list[list[Node]] | None:
    """Return the rows of the arguments of a bracket that may contain arguments, `(x, y; z)`; None for any other token.

    Braces contain arguments only after the `head` of a transform: `ℒ{f}`."""
    fences, high, _ = group_shape(token.label)
    if high != 1 or fences not in _BRACKETS or (fences == "{}" and head not in _TRANSFORMS):
        return None
    parts = elements_of_group(token)
    if len(parts) == 1 and len(parts[0]) == 1 and parts[0][0].label == "O!binom":
        return None
    return [piece for part in parts for piece in _split(part)]


def _split(tokens: list[Node]) -> list[list[Node]]:
    """Split a row at semicolons, which separate arguments too."""
    if not any(token.label == ";" for token in tokens):
        return [tokens]
    pieces: list[list[Node]] = [[]]
    for token in tokens:
        if token.label == ";":
            pieces.append([])
        else:
            pieces[-1].append(token)
    return [piece for piece in pieces if piece]


class Decision(NamedTuple):
    """Whether a letter is applied to the bracket after it, and whether that is uncertain."""

    applied: bool
    uncertain: bool


def decide(head: Node, arguments: list[list[Node]], fences: str) -> Decision:
    """Decide whether a letter is applied to the bracket after it.

    Several arguments, a letter that usually is a function, or a prime: an application. `c(x)` with one symbol inside:
    an application, because nobody brackets a single factor. `n(n+1)`, `a(b+c)`: a product. Capital letters take any
    argument but a sum."""
    name = head.label[2:]
    if fences == "[]" and name in _RINGS:
        return Decision(False, False)
    if len(arguments) > 1:
        return Decision(True, False)
    inside = arguments[0] if arguments else []
    if not inside or inside[0].label == "W!":
        return Decision(True, False)
    if fences == "[]" and _is_sum(inside) and name not in "EP𝔼ℙ":
        return Decision(False, True)
    if name in FUNCTIONS and len(name) == 1:
        return Decision(True, False)
    if head.edges not in PLAIN and _has_prime(head):
        return Decision(True, False)
    if name in FACTORS:
        return Decision(False, True)
    if _is_simple(inside):
        return Decision(True, name not in FUNCTIONS)
    if _is_sum(inside):
        return Decision(False, True)
    return Decision(len(name) == 1 and name.isupper(), True)


def _is_simple(inside: list[Node]) -> bool:
    """Check for one symbol, one application, a wildcard, or a bar between arguments: no factors."""
    first = inside[0].label
    if len(inside) == 1:
        return first[:2] in ("V!", "N!") or first[0] == "?"
    if len(inside) == 2 and first[:2] == "V!" and inside[1].label[:4] == "M!()":
        return True
    return any(token.label in ("|", "∣") for token in inside)


def _has_prime(head: Node) -> bool:
    sup = head.child("a")
    return sup is not None and (sup.label.startswith("′") or sup.label == "M!()1x1")


def _is_sum(tokens: list[Node]) -> bool:
    for token in tokens[1:]:
        symbol = SYMBOLS.get(token.label)
        if symbol is not None and symbol.form == ADD:
            return True
    return False


def is_composition(token: Node) -> bool:
    """Check for a bracket with functions joined by `∘` or `+`, which is a function itself: `(f∘g)(x)`."""
    fences, high, wide = group_shape(token.label)
    if fences != "()" or high != 1 or wide != 1:
        return False
    head = token.child("w")
    if head is None:
        return False
    tokens = row_of(head)
    if len(tokens) < 3 or len(tokens) % 2 == 0:
        return False
    circle = any(item.label == "∘" for item in tokens)
    return all(
        (item.label[:2] == "V!" and (circle or item.label[2:] in "fghFGH")) if at % 2 == 0 else item.label in "∘+−⋅*"
        for at, item in enumerate(tokens)
    )


def apply_node(parser: Parser, head: Node, arguments: list[list[Node]], places: tuple[int, ...]) -> Node:
    """Return an application: the function, then its arguments."""
    return Node("O!apply", [head, *(parser.row(argument) for argument in arguments if argument)], "", places)
