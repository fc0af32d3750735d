"""Parse operators with a body: sums and other big operators, limits, integrals, quantifiers.

As in `symbols`, each function updates the stack and returns the next position."""

from __future__ import annotations

from porism.formula.operators.calculus import (
    closing_differentials,
    fraction_with_differential,
    integral,
    split_numerator,
)
from porism.formula.operators.operands import begins_operand
from porism.formula.operators.prefix import quantifier_scope, with_bounds
from porism.formula.operators.scripts import Parser, paired_symbol
from porism.formula.operators.stack import Stack
from porism.formula.operators.table import BIG, MUL, SYMBOLS, Symbol
from porism.formula.tree import Node


def big(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse a sum, product, union or limit; its body is the product that follows."""
    token = tokens[at]
    if at + 1 == len(tokens):
        stack.value(with_bounds(parser, symbol.label, token, [Node("W!")]))
        return at + 1
    stack.prefix(BIG, symbol.prec, lambda value: with_bounds(parser, symbol.label, token, [value]))
    return at + 1


def integral_sign(parser: Parser, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Parse an integral up to its differential; without one it is a big operator."""
    token = tokens[at]
    found = closing_differentials(tokens, at + 1)
    if found is not None:
        begin, end = found
        if begin == at + 1 and end < len(tokens) and begins_operand(tokens[end]):
            # Physicists' order: the differential comes first, the body after it.
            variable = integral(parser, symbol.label, [], tokens[begin:end])[1]
            stack.prefix(BIG, symbol.prec, lambda body: with_bounds(parser, symbol.label, token, [body, variable]))
            return end
        body = tokens[at + 1 : begin]
        if len(body) > 1 and (last := SYMBOLS.get(body[-1].label)) is not None and last.form == MUL:
            # The sign before the differential of `F ⋅ dr` multiplies by the differential.
            body = body[:-1]
        parts = integral(parser, symbol.label, body, tokens[begin:end])
        stack.value(with_bounds(parser, symbol.label, token, parts))
        return end
    position = fraction_with_differential(tokens, at + 1)
    if position >= 0:
        fraction, differential = split_numerator(tokens[position])
        parts = integral(parser, symbol.label, [*tokens[at + 1 : position], fraction], differential)
        stack.value(with_bounds(parser, symbol.label, token, parts))
        return position + 1
    if at + 1 == len(tokens):
        stack.value(with_bounds(parser, symbol.label, token, [Node("W!"), Node("W!")]))
    else:
        stack.prefix(BIG, symbol.prec, lambda body: with_bounds(parser, symbol.label, token, [body, Node("W!")]))
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
