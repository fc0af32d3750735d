"""Parse the symbols of the operator table, by form. Each function updates the stack and returns the next position."""

from __future__ import annotations

from collections.abc import Callable

from porism.formula.operators import calculus, table
from porism.formula.operators.functions import (
    arguments_of,
    function_node,
    quantifier_scope,
    with_bounds,
    with_indices,
)
from porism.formula.operators.groups import group_shape, group_value
from porism.formula.operators.operands import begins_operand, push
from porism.formula.operators.scripts import PLAIN, Guess, Parser, paired_symbol, with_scripts
from porism.formula.operators.stack import InfixOperator, Stack
from porism.formula.operators.table import SYMBOLS, Symbol
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
            inside = parser.row(tokens[at + 1 : end])
            items = inside.children if inside.label[:4] == "M!L-" else [inside]
            label = {1: "M!D-⟨⟩", 2: "O!inner-product"}.get(len(items), f"M!V-{len(items)}")
            push(parser, stack, Node(label, items, "", token.places + tokens[end].places), tokens[end], False)
            return end + 1
    symbol, after, places = paired_symbol(tokens, at, symbol)
    stack.between(table.REL, symbol.prec, _infix(parser, token, symbol.label, places))
    return after


def sign(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse plus and minus: between operands, or before one."""
    token = tokens[at]
    if stack.has_operand and at + 1 == len(tokens):
        # `x → 0+`: from above.
        side = at == 1 or (len(stack.operators) == 1 and stack.operators[0].form == table.REL)
        if side and stack.operands[-1].label[:2] in ("N!", "V!"):
            stack.operands[-1] = Node("O!limit-from", [stack.operands[-1], Node(symbol.label, None, "", token.places)])
            return at + 1
    if stack.has_operand:
        symbol, after, places = paired_symbol(tokens, at, symbol)
        form = symbol.form if symbol.form == table.REL else table.ADD
        stack.between(form, symbol.prec, _infix(parser, token, symbol.label, places))
        return after
    if token.edges in PLAIN:
        stack.prefix(table.ADD, table.PREC_SIGN, lambda value: Node(symbol.label, [value], "", token.places))
    else:
        stack.prefix(table.ADD, table.PREC_SIGN, lambda value: with_indices(parser, symbol.label, token, [value]))
    return at + 1


def multiplication(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse a multiplication sign or a slash; where an operand is expected, it is a symbol."""
    token = tokens[at]
    if not stack.has_operand and at + 1 < len(tokens) and symbol.label not in ("O!divide-slash", "U!dot", "U!cross"):
        following = SYMBOLS.get(tokens[at + 1].label)
        if following is not None and following.form in (table.REL, table.SEP, table.MUL, table.ADD):
            return leaf(parser, stack, tokens, at, symbol)
    stack.between(table.MUL, symbol.prec, _infix(parser, token, symbol.label, token.places))
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
    if symbol.form == table.REL:
        stack.between(table.REL, prec, InfixOperator(symbol.label, places))
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
        stack.between(table.INFIX, table.PREC_MODULO, InfixOperator("O!modulo", token.places))
        return after
    stack.between(table.INFIX, prec, _infix(parser, token, symbol.label, places))
    return after


def _ket_end(tokens: list[Node], at: int) -> int:
    """Return the position of the `⟩` of `|ψ⟩`; 0 when the bar at `at` does not begin a ket."""
    end = next((i for i in range(at + 1, len(tokens)) if tokens[i].label in ("⟩", "|", "⟨")), 0)
    return end if end > at + 1 and tokens[end].label == "⟩" else 0


def _logic(stack: Stack, tokens: list[Node], label: str, prec: int) -> int:
    """Return the precedence of `∧` or `∨`. They join relations when there is one on each side, else they are operations
    (lattices, forms)."""
    if stack.logic == 0:
        stack.logic = 1
        seen = False
        for token in tokens:
            symbol = SYMBOLS.get(token.label)
            if token.label in _LOGIC or (symbol is not None and symbol.prec <= 5 and symbol.form == table.REL):
                if not seen:
                    break
                seen = False
            elif symbol is not None and symbol.form == table.REL and symbol.label != "O!to":
                seen = True
        else:
            stack.logic = 2 if seen else 1
    return _LOGIC[label] if stack.logic == 2 else prec


def separator(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse commas and semicolons, which make lists."""
    stack.between(table.SEP, symbol.prec, InfixOperator("M!L-", tokens[at].places))
    return at + 1


def postfix(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse a factorial, a prime or a percent sign after an operand."""
    token = tokens[at]
    if not stack.has_operand:
        return leaf(parser, stack, tokens, at, symbol)
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
    stack.prefix(table.FUN, table.PREC_FUNCTION, lambda value: function_node(parser, label, token, [value]))
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
    if at + 1 == len(tokens) or not begins_operand(tokens[at + 1]):
        return leaf(parser, stack, tokens, at, symbol)
    token = tokens[at]
    stack.prefix(table.NEAR, symbol.prec, lambda value: with_indices(parser, symbol.label, token, [value]))
    return at + 1


def prefix(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse a negation; after an operand `~` is a relation."""
    token = tokens[at]
    if stack.has_operand and token.label == "~":
        stack.between(table.REL, 10, _infix(parser, token, "U!similar", token.places))
    else:
        stack.prefix(table.PRE, symbol.prec, lambda value: Node(symbol.label, [value], "", token.places))
    return at + 1


def big(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse a sum, product, union or limit; its body is the product that follows."""
    token = tokens[at]
    if at + 1 == len(tokens):
        stack.value(with_bounds(parser, symbol.label, token, [Node("W!")]))
        return at + 1
    stack.prefix(table.BIG, symbol.prec, lambda value: with_bounds(parser, symbol.label, token, [value]))
    return at + 1


def integral_sign(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse an integral up to its differential; without one it is a big operator."""
    token = tokens[at]
    found = calculus.closing_differentials(tokens, at + 1)
    if found is not None:
        begin, end = found
        if begin == at + 1 and end < len(tokens) and begins_operand(tokens[end]):
            # Physicists' order: the differential comes first, the body after it.
            variable = calculus.integral(parser, symbol.label, [], tokens[begin:end])[1]
            stack.prefix(
                table.BIG, symbol.prec, lambda body: with_bounds(parser, symbol.label, token, [body, variable])
            )
            return end
        body = tokens[at + 1 : begin]
        if len(body) > 1 and (last := SYMBOLS.get(body[-1].label)) is not None and last.form == table.MUL:
            # The sign before the differential of `F ⋅ dr` multiplies by the differential.
            body = body[:-1]
        parts = calculus.integral(parser, symbol.label, body, tokens[begin:end])
        stack.value(with_bounds(parser, symbol.label, token, parts))
        return end
    position = calculus.fraction_with_differential(tokens, at + 1)
    if position >= 0:
        fraction, differential = calculus.split_numerator(tokens[position])
        parts = calculus.integral(parser, symbol.label, [*tokens[at + 1 : position], fraction], differential)
        stack.value(with_bounds(parser, symbol.label, token, parts))
        return position + 1
    if at + 1 == len(tokens):
        stack.value(with_bounds(parser, symbol.label, token, [Node("W!"), Node("W!")]))
    else:
        stack.prefix(table.BIG, symbol.prec, lambda body: with_bounds(parser, symbol.label, token, [body, Node("W!")]))
    return at + 1


def quantifier(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse a quantifier: its bound variables, then its statement, which may also precede it."""
    symbol, start, places = paired_symbol(tokens, at, symbol)
    end, rest, close = quantifier_scope(tokens, start)
    binder = parser.row(tokens[start:end]) if end > start else Node("W!")
    children = [binder]
    if stack.has_operand:
        while stack.operators and stack.operators[-1].prec >= symbol.prec:
            stack.reduce()
        children.append(stack.operands.pop())
        stack.has_operand = False
        rest = end
    elif rest < len(tokens):
        if close > rest:
            children.append(parser.row(tokens[rest:close]))
        rest = close
    stack.value(Node(symbol.label, children, "", places))
    return rest


HANDLERS: dict[int, Handler] = {
    table.REL: relation,
    table.ADD: sign,
    table.MUL: multiplication,
    table.INFIX: infix,
    table.SEP: separator,
    table.POST: postfix,
    table.CONST: constant,
    table.LEAF: leaf,
    table.FUN: function,
    table.NEAR: factor_prefix,
    table.PRE: prefix,
    table.BIG: big,
    table.LIM: big,
    table.INT: integral_sign,
    table.QUANT: quantifier,
}
