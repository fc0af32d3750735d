"""What takes the tokens after it: letters and names before a bracket, functions, sums, limits, quantifiers."""

from __future__ import annotations

from typing import NamedTuple

from porism.formula.operators.groups import elements_of_group, group_shape
from porism.formula.operators.scripts import Parser, with_superscript
from porism.formula.operators.table import ADD, FACTORS, FUNCTIONS, QUANT, REL, SYMBOLS
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
    arguments: list[list[Node]] = []
    for part in parts:
        if not any(inside.label == ";" for inside in part):
            arguments.append(part)
            continue
        pieces: list[list[Node]] = [[]]
        for inside in part:
            if inside.label == ";":
                pieces.append([])
            else:
                pieces[-1].append(inside)
        arguments += [piece for piece in pieces if piece]
    return arguments


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
    above = head.child("a")
    if above is not None and (above.label.startswith("′") or above.label == "M!()1x1"):
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


def _is_sum(tokens: list[Node]) -> bool:
    return any((symbol := SYMBOLS.get(token.label)) is not None and symbol.form == ADD for token in tokens[1:])


def is_composition(token: Node) -> bool:
    """Check for a bracket with functions joined by `∘` or `+`, which is a function itself: `(f∘g)(x)`."""
    fences, high, wide = group_shape(token.label)
    if fences != "()" or high != 1 or wide != 1:
        return False
    head = token.child("w")
    tokens = [] if head is None else row_of(head)
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


_BINDER_ENDS = frozenset((",", ":", ";", ".", "∣", "|", "⇒", "⇔"))


def with_bounds(parser: Parser, label: str, token: Node, parts: list[Node]) -> Node:
    """Return a sum, product, limit or integral with its parts, then its bounds: none, the lower one, or both."""
    under = token.child("u") or token.child("b")
    over = token.child("o") or token.child("a")
    children = list(parts)
    if under is not None or over is not None:
        children.append(parser.chain(under) if under is not None else Node("W!"))
    if over is not None:
        children.append(parser.chain(over))
    return Node(label, children, "", token.places)


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
    end = len(tokens)
    if start <= variables_end:
        end = next((at for at in range(start, end) if tokens[at].label in ("⇒", "⇔", "∧", "∨")), end)
    return QuantifierScope(variables_end, start, end)


def _binder(tokens: list[Node], start: int) -> tuple[int, int]:
    size = len(tokens)
    related = False
    for at in range(start, size):
        label = tokens[at].label
        symbol = SYMBOLS.get(label)
        if label in _BINDER_ENDS and at > start:
            if label == "," and _names_follow(tokens[at + 1 :]):
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


def _names_follow(tokens: list[Node]) -> bool:
    """Check that a comma separates bound variables, as in `∀x,y ∈ A`, not the variables from the statement."""
    first = next((token for token in tokens if token.label[:2] != "V!" and token.label != ","), None)
    symbol = SYMBOLS.get(first.label) if first is not None else None
    return symbol is not None and symbol.label in ("O!in", "O!gt", "O!geq", "O!subset", "O!subseteq")
