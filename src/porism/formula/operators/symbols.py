"""Parse the symbols of the operator table, by form. Each updates the stack and returns the next position."""

from __future__ import annotations

from collections.abc import Callable

from porism.formula.operators.application import arguments_of
from porism.formula.operators.binders import big, integral_sign, quantifier
from porism.formula.operators.groups import group_shape, group_value
from porism.formula.operators.nary import InfixOperator
from porism.formula.operators.operands import begins_operand, push
from porism.formula.operators.prefix import function_node, with_bounds, with_indices
from porism.formula.operators.scripts import PLAIN, Guess, Parser, paired_symbol, with_scripts
from porism.formula.operators.stack import Stack
from porism.formula.operators.table import (
    ADD,
    BIG,
    CONST,
    FUN,
    INFIX,
    INT,
    LEAF,
    LIM,
    MUL,
    NEAR,
    POST,
    PRE,
    PREC_FUNCTION,
    PREC_MODULO,
    PREC_SIGN,
    QUANT,
    REL,
    SEP,
    SYMBOLS,
    Symbol,
)
from porism.formula.tree import Node

Handler = Callable[[Parser, Stack, list[Node], int, Symbol], int]

# Precedence of `∧` and `∨` when they join relations.
_LOGIC = {"∧": 9, "∨": 8}
_AROUND = frozenset(("()", "[]"))


def _infix(parser: Parser, token: Node, label: str, places: tuple[int, ...]) -> InfixOperator:
    """Return an operator with its scripts: `⊗_R`, `=` with words above."""
    if token.edges in PLAIN:
        return InfixOperator(label, places)
    made = with_indices(parser, label, token, [])
    return InfixOperator(made.label, places, tuple(made.children))


def relation(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse a relation. A `<` without a left operand may be an angle bracket."""
    token = tokens[at]
    if token.label == "<" and not stack.has_operand:
        end = next((i for i in range(at + 2, len(tokens)) if tokens[i].label == ">"), 0)
        if end:
            return _angle(parser, stack, tokens, at, end)
    symbol, after, places = paired_symbol(tokens, at, symbol)
    stack.between(REL, symbol.prec, _infix(parser, token, symbol.label, places))
    return after


def _angle(parser: Parser, stack: Stack, tokens: list[Node], at: int, end: int) -> int:
    inside = parser.row(tokens[at + 1 : end])
    items = inside.children if inside.label[:4] == "M!L-" else [inside]
    label = {1: "M!D-⟨⟩", 2: "O!inner-product"}.get(len(items), f"M!V-{len(items)}")
    made = Node(label, items, "", tokens[at].places + tokens[end].places)
    push(parser, stack, made, tokens[end], False)
    return end + 1


def sign(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse plus and minus: between operands, or before one."""
    token = tokens[at]
    if stack.has_operand and at + 1 == len(tokens) and _ends_bound(stack, len(tokens)):
        # `x → 0+`: from above.
        stack.operands[-1] = Node("O!limit-from", [stack.operands[-1], Node(symbol.label, None, "", token.places)])
        return at + 1
    if stack.has_operand:
        symbol, after, places = paired_symbol(tokens, at, symbol)
        form = symbol.form if symbol.form == REL else ADD
        stack.between(form, symbol.prec, _infix(parser, token, symbol.label, places))
        return after
    if token.edges in PLAIN:
        stack.prefix(ADD, PREC_SIGN, lambda value: Node(symbol.label, [value], "", token.places))
    else:
        stack.prefix(ADD, PREC_SIGN, lambda value: with_indices(parser, symbol.label, token, [value]))
    return at + 1


def _ends_bound(stack: Stack, size: int) -> bool:
    """Check whether a sign at the end of a row can be the side from which a bound is approached."""
    side = size == 2 or (len(stack.operators) == 1 and stack.operators[0].form == REL)
    return side and stack.operands[-1].label[:2] in ("N!", "V!")


def multiplication(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse a multiplication sign or a slash; where an operand is expected, it is a symbol."""
    token = tokens[at]
    if not stack.has_operand and at + 1 < len(tokens) and symbol.label not in ("O!divide-slash", "U!dot", "U!cross"):
        following = SYMBOLS.get(tokens[at + 1].label)
        if following is not None and following.form in (REL, SEP, MUL, ADD):
            push(parser, stack, Node(symbol.label, None, "", token.places), token, False)
            return at + 1
    stack.between(MUL, symbol.prec, _infix(parser, token, symbol.label, token.places))
    return at + 1


def infix(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse set operators, logic, colons, bars, `mod`."""
    token = tokens[at]
    label = token.label
    if label == "|" and (end := _ket_end(tokens, at)):
        made = Node("O!ket", [parser.row(tokens[at + 1 : end])], "", token.places + tokens[end].places)
        push(parser, stack, made, tokens[end], False)
        return end + 1
    symbol, after, places = paired_symbol(tokens, at, symbol)
    prec = symbol.prec
    if symbol.form == REL:
        stack.between(REL, prec, InfixOperator(symbol.label, places))
        return after
    if label == "|" and stack.has_operand and token.edges not in PLAIN:
        while stack.operators and stack.operators[-1].prec >= 26:
            stack.reduce()
        stack.operands[-1] = with_bounds(parser, "O!evaluated-at", token, [stack.operands[-1]])
        return after
    if label in _LOGIC:
        prec = _logic(stack, tokens, label, prec)
    elif symbol.label == "O!rem" and any(
        open_.run and open_.run[-1].label in ("U!equivalent", "U!not-equivalent") for open_ in stack.operators
    ):
        stack.between(INFIX, PREC_MODULO, InfixOperator("O!modulo", token.places))
        return after
    stack.between(INFIX, prec, _infix(parser, token, symbol.label, places))
    return after


def _ket_end(tokens: list[Node], at: int) -> int:
    """Return the position of the `⟩` of `|ψ⟩`; 0 when the bar at `at` does not begin a ket."""
    for end in range(at + 1, len(tokens)):
        label = tokens[end].label
        if label == "⟩":
            return end if end > at + 1 else 0
        if label in ("|", "⟨"):
            return 0
    return 0


def _logic(stack: Stack, tokens: list[Node], label: str, prec: int) -> int:
    """Return the precedence of `∧` or `∨`. They join relations when there is one on each side, else they are operations
    (lattices, forms)."""
    if stack.logic == 0:
        stack.logic = 1
        seen = False
        for token in tokens:
            symbol = SYMBOLS.get(token.label)
            if token.label in _LOGIC or (symbol is not None and symbol.prec <= 5 and symbol.form == REL):
                if not seen:
                    break
                seen = False
            elif symbol is not None and symbol.form == REL and symbol.label != "O!to":
                seen = True
        else:
            stack.logic = 2 if seen else 1
    return _LOGIC[label] if stack.logic == 2 else prec


def separator(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse commas and semicolons, which make lists."""
    stack.between(SEP, symbol.prec, InfixOperator("M!L-", tokens[at].places))
    return at + 1


def postfix(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse a factorial, a prime or a percent sign after an operand."""
    token = tokens[at]
    if not stack.has_operand:
        push(parser, stack, Node(symbol.label, None, "", token.places), token, False)
        return at + 1
    if token.label == "!" == tokens[at - 1].label and stack.operands[-1].label == "O!factorial":
        inner = stack.operands[-1]
        made = Node("O!double-factorial", inner.children, "", inner.places + token.places)
    else:
        made = Node(symbol.label, [stack.operands[-1]], "", token.places)
    stack.operands[-1] = made if token.edges in PLAIN else with_scripts(parser, made, token)
    return at + 1


def constant(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse π, ∞, ℝ, dots. `π(x)` with one letter inside is the prime-counting function."""
    token = tokens[at]
    if token.label == "V!π" and at + 1 < len(tokens) and tokens[at + 1].label == "M!()1x1" and token.edges in PLAIN:
        inside = tokens[at + 1].child("w")
        if inside is not None and inside.edges == "" and inside.label[:2] == "V!":
            made = Node(
                "O!apply", [Node("V!π", None, "", token.places), parser.chain(inside)], "", tokens[at + 1].places
            )
            push(parser, stack, made, tokens[at + 1], True)
            parser.guesses.append(Guess("application", made))
            return at + 2
    push(parser, stack, Node(symbol.label, None, "", token.places), token, True)
    return at + 1


def leaf(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse a symbol without operands."""
    push(parser, stack, Node(symbol.label, None, "", tokens[at].places), tokens[at], False)
    return at + 1


def function(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse the name of a function: with arguments in brackets, with an argument that follows, or alone."""
    token = tokens[at]
    label = symbol.label
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if following is None or not begins_operand(following):
        stack.value(function_node(parser, label, token, []))
        return at + 1
    if following.label[:2] == "M!":
        values = _arguments(parser, following)
        if values is not None:
            made = function_node(parser, label, token, values)
            made.places += following.places
            push(parser, stack, made, following, False)
            return at + 2
    stack.prefix(FUN, PREC_FUNCTION, lambda value: function_node(parser, label, token, [value]))
    return at + 1


def _arguments(parser: Parser, token: Node) -> list[Node] | None:
    fences = group_shape(token.label).fences
    if fences == "{}" and token.edges in PLAIN:
        made = group_value(parser, token)
        return made.children if made.label[:4] == "M!S-" else [made]
    found = arguments_of(token) if fences in _AROUND else None
    return None if found is None else [parser.row(part) for part in found if part]


def factor_prefix(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse `∂`, `∇`, `#`: a prefix of the next factor, or a symbol where no factor follows."""
    token = tokens[at]
    label = symbol.label
    if at + 1 < len(tokens) and begins_operand(tokens[at + 1]):
        stack.prefix(NEAR, symbol.prec, lambda value: with_indices(parser, label, token, [value]))
    else:
        push(parser, stack, Node(label, None, "", token.places), token, False)
    return at + 1


def prefix(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse a negation; after an operand `~` is a relation."""
    token = tokens[at]
    if stack.has_operand and token.label == "~":
        stack.between(REL, 10, _infix(parser, token, "U!similar", token.places))
    else:
        stack.prefix(PRE, symbol.prec, lambda value: Node(symbol.label, [value], "", token.places))
    return at + 1


HANDLERS: dict[int, Handler] = {
    REL: relation,
    ADD: sign,
    MUL: multiplication,
    INFIX: infix,
    SEP: separator,
    POST: postfix,
    CONST: constant,
    LEAF: leaf,
    FUN: function,
    NEAR: factor_prefix,
    PRE: prefix,
    BIG: big,
    LIM: big,
    INT: integral_sign,
    QUANT: quantifier,
}
