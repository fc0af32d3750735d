"""Is a letter before a bracket a function or a factor?"""

from __future__ import annotations

from porism.formula.operators.groups import parts_of, shape
from porism.formula.operators.scripts import PLAIN, Rows
from porism.formula.operators.table import ADD, FACTORS, FUNCTIONS, MATRICES, SYMBOLS
from porism.formula.tree import Node, row_of

# Letters of rings and fields: in square brackets after them stand indeterminates.
_RINGS = frozenset("RKkFA𝔽𝕂")
_BRACKETS = frozenset(("()", "[]", "{}"))
_TRANSFORMS = frozenset(("V!ℱ", "V!ℒ", "V!𝒵", "V!𝔼"))


def arguments_of(token: Node, head: str = "") -> list[list[Node]] | None:
    """The rows of the arguments when a token is a bracket that may hold arguments: `(x, y; z)`; None when it is not.

    Braces hold arguments only after the `head` of a transform: `ℒ{f}`.
    """
    fences, high, _ = shape(token.label)
    if high != 1 or fences not in _BRACKETS or (fences == "{}" and head not in _TRANSFORMS):
        return None
    parts = parts_of(token)
    if len(parts) == 1 and len(parts[0]) == 1 and parts[0][0].label == "O!binom":
        return None
    return [piece for part in parts for piece in _split(part)]


def _split(tokens: list[Node]) -> list[list[Node]]:
    """Arguments are parted by semicolons too."""
    if not any(token.label == ";" for token in tokens):
        return [tokens]
    pieces: list[list[Node]] = [[]]
    for token in tokens:
        if token.label == ";":
            pieces.append([])
        else:
            pieces[-1].append(token)
    return [piece for piece in pieces if piece]


def applies(head: Node, arguments: list[list[Node]], fences: str) -> tuple[bool, bool]:
    """Whether a letter is applied to what follows in brackets, and whether that is uncertain.

    Several arguments, or a letter that names functions, or a prime: a function. `c(x)` with one symbol inside: a function, for nobody
    brackets a lone factor. `n(n+1)`, `a(b+c)`: a product. Capital letters take any argument but a sum.
    """
    name = head.label[2:]
    if fences == "[]" and name in _RINGS:
        return False, False
    if len(arguments) > 1:
        return True, False
    inside = arguments[0] if arguments else []
    if not inside or inside[0].label == "W!":
        return True, False
    if fences == "[]" and _is_sum(inside) and name not in "EP𝔼ℙ":
        return False, True
    if name in FUNCTIONS and len(name) == 1:
        return True, False
    if head.edges not in PLAIN and _primed(head):
        return True, False
    if name in FACTORS:
        return False, True
    if _is_simple(inside):
        return True, name not in FUNCTIONS
    if _is_sum(inside):
        return False, True
    return len(name) == 1 and name.isupper() and (name in MATRICES or not _is_sum(inside)), True


def _is_simple(inside: list[Node]) -> bool:
    """One symbol, one application (`λ(L(B))`), a wildcard, or a bar that parts arguments: nothing that is bracketed to be multiplied."""
    first = inside[0].label
    if len(inside) == 1:
        return first[:2] in ("V!", "N!") or first[0] == "?"
    if len(inside) == 2 and first[:2] == "V!" and inside[1].label[:4] == "M!()":
        return True
    return any(token.label in ("|", "∣") for token in inside)


def _primed(head: Node) -> bool:
    sup = head.child("a")
    return sup is not None and (sup.label.startswith("′") or sup.label == "M!()1x1")


def _is_sum(tokens: list[Node]) -> bool:
    for token in tokens[1:]:
        symbol = SYMBOLS.get(token.label)
        if symbol is not None and symbol.form == ADD:
            return True
    return False


def composed(token: Node) -> bool:
    """A bracket that holds functions joined by `∘` or `+` (`(f∘g)(x)`) is a function itself."""
    fences, high, wide = shape(token.label)
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


def apply_node(rows: Rows, head: Node, arguments: list[list[Node]], places: tuple[int, ...]) -> Node:
    """An application: the function, then its arguments."""
    return Node("O!apply", [head, *(rows.row(argument) for argument in arguments if argument)], "", places)
