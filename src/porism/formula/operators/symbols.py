"""Symbols of the operator table, one reader a form. Each pushes what it read and gives the next place."""

from __future__ import annotations

from collections.abc import Callable

from porism.formula.operators.apply import arguments_of
from porism.formula.operators.calculus import closing, in_numerator, integral, take_numerator
from porism.formula.operators.chains import Mark
from porism.formula.operators.groups import group_value, shape
from porism.formula.operators.operands import begins_operand, push
from porism.formula.operators.prefix import binder_end, function_node, marked, with_bounds
from porism.formula.operators.scripts import PLAIN, Rows, scripted
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
    PAIRS,
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

Handler = Callable[[Rows, Stack, list[Node], int, Symbol], int]

# A symbol that may begin a pair such as `:=`.
_FIRST = frozenset(first for first, _ in PAIRS)
_SECOND = frozenset(second for _, second in PAIRS)
# How `∧` and `∨` bind when they join relations.
_LOGIC = {"∧": 9, "∨": 8}
_AROUND = frozenset(("()", "[]"))


def _pair(tokens: list[Node], at: int, symbol: Symbol) -> tuple[Symbol, int, tuple[int, ...]]:
    """The symbol here, or the one that it makes with the next."""
    token = tokens[at]
    if at + 1 < len(tokens) and tokens[at + 1].label in _SECOND and token.label in _FIRST and token.edges in PLAIN:
        both = PAIRS.get((token.label, tokens[at + 1].label))
        if both is not None:
            return SYMBOLS[both], at + 2, token.places + tokens[at + 1].places
    return symbol, at + 1, token.places


def _mark(rows: Rows, token: Node, label: str, places: tuple[int, ...]) -> Mark:
    """An operator with what hangs on it: `⊗_R`, `=` with words above."""
    if token.edges in PLAIN:
        return Mark(label, places)
    made = marked(rows, label, token, [])
    return Mark(made.label, places, tuple(made.children))


def relation(rows: Rows, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """A relation joins a chain; a lone `<` before a value may be an angle bracket."""
    token = tokens[at]
    if token.label == "<" and not stack.have:
        end = next((i for i in range(at + 2, len(tokens)) if tokens[i].label == ">"), 0)
        if end:
            return _angle(rows, stack, tokens, at, end)
    symbol, after, places = _pair(tokens, at, symbol)
    stack.between(REL, symbol.prec, _mark(rows, token, symbol.label, places))
    return after


def _angle(rows: Rows, stack: Stack, tokens: list[Node], at: int, end: int) -> int:
    inside = rows.row(tokens[at + 1 : end])
    items = inside.children if inside.label[:4] == "M!L-" else [inside]
    label = {1: "M!D-⟨⟩", 2: "O!inner-product"}.get(len(items), f"M!V-{len(items)}")
    made = Node(label, items, "", tokens[at].places + tokens[end].places)
    push(rows, stack, made, tokens[end], False)
    return end + 1


def sign(rows: Rows, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Plus and minus: between operands, or before one."""
    token = tokens[at]
    if stack.have and at + 1 == len(tokens) and _ends_bound(stack, len(tokens)):
        # `x → 0+`: from above.
        stack.values[-1] = Node("O!limit-from", [stack.values[-1], Node(symbol.label, None, "", token.places)])
        return at + 1
    if stack.have:
        symbol, after, places = _pair(tokens, at, symbol)
        form = symbol.form if symbol.form == REL else ADD
        stack.between(form, symbol.prec, _mark(rows, token, symbol.label, places))
        return after
    if token.edges in PLAIN:
        stack.prefix(ADD, PREC_SIGN, lambda value: Node(symbol.label, [value], "", token.places))
    else:
        stack.prefix(ADD, PREC_SIGN, lambda value: marked(rows, symbol.label, token, [value]))
    return at + 1


def _ends_bound(stack: Stack, size: int) -> bool:
    """Whether a sign at the end of a row can say from which side a bound is approached."""
    side = size == 2 or (len(stack.ops) == 1 and stack.ops[0].form == REL)
    return side and stack.values[-1].label[:2] in ("N!", "V!")


def times(rows: Rows, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """A multiplication sign or a slash; where an operand should stand, a symbol."""
    token = tokens[at]
    if not stack.have and at + 1 < len(tokens) and symbol.label not in ("O!divide-slash", "U!dot", "U!cross"):
        following = SYMBOLS.get(tokens[at + 1].label)
        if following is not None and following.form in (REL, SEP, MUL, ADD):
            push(rows, stack, Node(symbol.label, None, "", token.places), token, False)
            return at + 1
    stack.between(MUL, symbol.prec, _mark(rows, token, symbol.label, token.places))
    return at + 1


def infix(rows: Rows, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Set operators, logic, colons, bars, `mod`."""
    token = tokens[at]
    label = token.label
    if label == "|" and (end := _ket_end(tokens, at)):
        made = Node("O!ket", [rows.row(tokens[at + 1 : end])], "", token.places + tokens[end].places)
        push(rows, stack, made, tokens[end], False)
        return end + 1
    symbol, after, places = _pair(tokens, at, symbol)
    prec = symbol.prec
    if symbol.form == REL:
        stack.between(REL, prec, Mark(symbol.label, places))
        return after
    if label == "|" and stack.have and token.edges not in PLAIN:
        while stack.ops and stack.ops[-1].prec >= 26:
            stack.reduce()
        stack.values[-1] = with_bounds(rows, "O!evaluated-at", token, [stack.values[-1]])
        return after
    if label in _LOGIC:
        prec = _logic(stack, tokens, label, prec)
    elif symbol.label == "O!rem" and any(
        open_.marks and open_.marks[-1].label in ("U!equivalent", "U!not-equivalent") for open_ in stack.ops
    ):
        stack.between(INFIX, PREC_MODULO, Mark("O!modulo", token.places))
        return after
    stack.between(INFIX, prec, _mark(rows, token, symbol.label, places))
    return after


def _ket_end(tokens: list[Node], at: int) -> int:
    """Where the `⟩` of `|ψ⟩` stands; 0 when the bar at `at` is not the beginning of a ket."""
    for end in range(at + 1, len(tokens)):
        label = tokens[end].label
        if label == "⟩":
            return end if end > at + 1 else 0
        if label in ("|", "⟨"):
            return 0
    return 0


def _logic(stack: Stack, tokens: list[Node], label: str, prec: int) -> int:
    """`∧` and `∨` join relations when every part between them is one; otherwise they are operations (lattices, forms)."""
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


def separator(rows: Rows, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Commas and semicolons make lists."""
    stack.between(SEP, symbol.prec, Mark("M!L-", tokens[at].places))
    return at + 1


def postfix(rows: Rows, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """A factorial, a prime, a percent sign on the operand before it."""
    token = tokens[at]
    if not stack.have:
        push(rows, stack, Node(symbol.label, None, "", token.places), token, False)
        return at + 1
    if token.label == "!" == tokens[at - 1].label and stack.values[-1].label == "O!factorial":
        inner = stack.values[-1]
        made = Node("O!double-factorial", inner.children, "", inner.places + token.places)
    else:
        made = Node(symbol.label, [stack.values[-1]], "", token.places)
    stack.values[-1] = made if token.edges in PLAIN else scripted(rows, made, token)
    return at + 1


def constant(rows: Rows, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """π, ∞, ℝ, dots; but `π(x)` with one letter inside counts primes."""
    token = tokens[at]
    if token.label == "V!π" and at + 1 < len(tokens) and tokens[at + 1].label == "M!()1x1" and token.edges in PLAIN:
        inside = tokens[at + 1].child("w")
        if inside is not None and inside.edges == "" and inside.label[:2] == "V!":
            made = Node("O!apply", [Node("V!π", None, "", token.places), rows.chain(inside)], "", tokens[at + 1].places)
            push(rows, stack, made, tokens[at + 1], True)
            rows.unsure.append(("application", made))
            return at + 2
    push(rows, stack, Node(symbol.label, None, "", token.places), token, True)
    return at + 1


def leaf(rows: Rows, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """A symbol that is just itself."""
    push(rows, stack, Node(symbol.label, None, "", tokens[at].places), tokens[at], False)
    return at + 1


def function(rows: Rows, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """A function's name: with arguments in brackets, or waiting for an argument, or alone."""
    token = tokens[at]
    label = symbol.label
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if following is None or not begins_operand(following):
        stack.value(function_node(rows, label, token, []))
        return at + 1
    if following.label[:2] == "M!":
        values = _arguments(rows, following)
        if values is not None:
            made = function_node(rows, label, token, values)
            made.places += following.places
            push(rows, stack, made, following, False)
            return at + 2
    stack.prefix(FUN, PREC_FUNCTION, lambda value: function_node(rows, label, token, [value]))
    return at + 1


def _arguments(rows: Rows, token: Node) -> list[Node] | None:
    fences = shape(token.label)[0]
    if fences == "{}" and token.edges in PLAIN:
        made = group_value(rows, token)
        return made.children if made.label[:4] == "M!S-" else [made]
    found = arguments_of(token) if fences in _AROUND else None
    return None if found is None else [rows.row(part) for part in found if part]


def near(rows: Rows, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """`∂`, `∇`, `#`: a prefix of the next factor, or a symbol where no factor follows."""
    token = tokens[at]
    label = symbol.label
    if at + 1 < len(tokens) and begins_operand(tokens[at + 1]):
        stack.prefix(NEAR, symbol.prec, lambda value: marked(rows, label, token, [value]))
    else:
        push(rows, stack, Node(label, None, "", token.places), token, False)
    return at + 1


def before(rows: Rows, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """Negation; after an operand the same sign is a relation."""
    token = tokens[at]
    if stack.have and token.label == "~":
        stack.between(REL, 10, _mark(rows, token, "U!similar", token.places))
    else:
        stack.prefix(PRE, symbol.prec, lambda value: Node(symbol.label, [value], "", token.places))
    return at + 1


def big(rows: Rows, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """A sum, product, union or limit: the body is the product that follows."""
    token = tokens[at]
    if at + 1 == len(tokens):
        stack.value(with_bounds(rows, symbol.label, token, [Node("W!")]))
        return at + 1
    stack.prefix(BIG, symbol.prec, lambda value: with_bounds(rows, symbol.label, token, [value]))
    return at + 1


def integral_sign(rows: Rows, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """An integral up to its differential, wherever that stands; without one, a big operator."""
    token = tokens[at]
    found = closing(tokens, at + 1, symbol.label)
    if found is not None:
        begin, end = found
        if begin == at + 1 and end < len(tokens) and begins_operand(tokens[end]):
            # Physicists' order: the differential comes first, the body after it.
            variable = integral(rows, symbol.label, [], tokens[begin:end])[1]
            stack.prefix(BIG, symbol.prec, lambda body: with_bounds(rows, symbol.label, token, [body, variable]))
            return end
        body = tokens[at + 1 : begin]
        if len(body) > 1 and (last := SYMBOLS.get(body[-1].label)) is not None and last.form == MUL:
            # The sign before the differential of `F ⋅ dr` multiplies by the differential.
            body = body[:-1]
        parts = integral(rows, symbol.label, body, tokens[begin:end])
        stack.value(with_bounds(rows, symbol.label, token, parts))
        return end
    place = in_numerator(tokens, at + 1)
    if place >= 0:
        fraction, differential = take_numerator(tokens[place])
        parts = integral(rows, symbol.label, [*tokens[at + 1 : place], fraction], differential)
        stack.value(with_bounds(rows, symbol.label, token, parts))
        return place + 1
    if at + 1 == len(tokens):
        stack.value(with_bounds(rows, symbol.label, token, [Node("W!"), Node("W!")]))
    else:
        stack.prefix(BIG, symbol.prec, lambda body: with_bounds(rows, symbol.label, token, [body, Node("W!")]))
    return at + 1


def quantifier(rows: Rows, stack: Stack, tokens: list[Node], at: int, symbol: Symbol) -> int:
    """A quantifier: the bound variables, then what is said of them; after a formula, what was said before."""
    symbol, start, places = _pair(tokens, at, symbol)
    end, rest, close = binder_end(tokens, start)
    binder = rows.row(tokens[start:end]) if end > start else Node("W!")
    children = [binder]
    if stack.have:
        while stack.ops and stack.ops[-1].prec >= symbol.prec:
            stack.reduce()
        children.append(stack.values.pop())
        stack.have = False
        rest = end
    elif rest < len(tokens):
        if close > rest:
            children.append(rows.row(tokens[rest:close]))
        rest = close
    stack.value(Node(symbol.label, children, "", places))
    return rest


HANDLERS: dict[int, Handler] = {
    REL: relation,
    ADD: sign,
    MUL: times,
    INFIX: infix,
    SEP: separator,
    POST: postfix,
    CONST: constant,
    LEAF: leaf,
    FUN: function,
    NEAR: near,
    PRE: before,
    BIG: big,
    LIM: big,
    INT: integral_sign,
    QUANT: quantifier,
}
