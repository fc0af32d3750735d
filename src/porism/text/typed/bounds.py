"""Bounds and conditions that people write beside an operator, moved under it: `from 0 to 1`, `n=1 to infinity`, `as x
-> 0`, `int(f, x, 0, 1)`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, zip_longest

from porism.text.typed.tokens import OPERANDS, Token

Tokens = list[Token]
_OPEN, _CLOSE = Token("open", "{", "〖"), Token("close", "}", "〗")  # brackets that are not shown
_BELOW, _ABOVE = Token("script", "_", "_"), Token("script", "^", "^")
_TO = Token("relation", "\\to ", "->")
_EQUALS = Token("relation", "=", "=")
VARIABLES = "xtuyzsrvwθφk"  # variables of integration, the most usual first
_VARIABLE = ("letter", "wildcard")
_WITH_CONDITION = ("\\lim ",)
_INTEGRALS = ("\\int ", "\\iint ", "\\iiint ", "\\oint ")


def place_bounds(tokens: Sequence[Token]) -> Tokens:
    """Return the tokens with every bound as a script of its operator, and words that only connect left out."""
    found = _arguments(list(tokens))
    # The word before the sign that it names goes: `integral ∫ x dx`.
    named = [a.kind == b.kind == "big" and a.text.isalpha() for a, b in pairwise(found)]
    found = _operator_first([token for token, left_out in zip_longest(found, named) if not left_out])
    for at in [number for number, token in enumerate(found) if token.kind == "big"][::-1]:
        end = next((number for number in range(at + 1, len(found)) if found[number].kind == "big"), len(found))
        found[at:end] = _placed(found[at:end])
    for at in range(1, len(found) - 1):
        if _is_word(found[at], "to") and found[at - 1].kind == "letter":
            found[at] = _TO
    return [token for token in found if not _is_word(token, "from", "to", "of", "as")]


def _is_word(token: Token, *words: str) -> bool:
    return token.kind == "word" and token.latex in words


def _placed(tokens: Tokens) -> Tokens:
    """Return one operator, the tokens that follow it, and its bounds moved to it."""
    operator, rest = tokens[0], tokens[1:]
    while rest and _is_word(rest[0], "of", "as"):
        rest = rest[1:]
    if rest and rest[0].kind == "script":
        return _with_differential(operator, [], rest)
    for find in (_condition,) if operator.latex in _WITH_CONDITION else (_from_to, _assigned, _range_first):
        scripts, left = find(rest)
        if scripts:
            return _with_differential(operator, scripts, left)
    return _with_differential(operator, [], rest)


def _condition(tokens: Tokens) -> tuple[Tokens, Tokens]:
    """Find `x -> 0`, also bracketed or after the operand: a letter, an arrow, an operand without blanks."""
    tokens = [token for token in tokens if token.text not in ("goes", "tends")]
    for at in range(len(tokens) - 2):
        is_arrow = tokens[at + 1].latex == "\\to " or _is_word(tokens[at + 1], "to")
        if tokens[at].kind not in _VARIABLE or not is_arrow:
            continue
        start, end = at, _tight_end(tokens, at + 2)
        if at and tokens[at - 1].kind == "open" and end < len(tokens) and tokens[end].kind == "close":
            start, end = at - 1, end + 1
        inner = [tokens[at], _TO, *tokens[at + 2 : _tight_end(tokens, at + 2)]]
        while start and (tokens[start - 1].kind == "comma" or tokens[start - 1].latex == "as"):
            start -= 1
        return _script(_BELOW, inner), tokens[:start] + tokens[end:]
    return [], tokens


def _from_to(tokens: Tokens) -> tuple[Tokens, Tokens]:
    """Find `from A to B`; B has no blanks."""
    start = next((at for at, token in enumerate(tokens) if _is_word(token, "from")), -1)
    if start < 0:
        return [], tokens
    middle = next((at for at in range(start + 2, len(tokens) - 1) if _is_to(tokens[at])), -1)
    if middle < 0:
        return [], tokens
    end = _tight_end(tokens, middle + 1)
    scripts = _script(_BELOW, tokens[start + 1 : middle]) + _script(_ABOVE, tokens[middle + 1 : end])
    return scripts, tokens[:start] + tokens[end:]


def _assigned(tokens: Tokens) -> tuple[Tokens, Tokens]:
    """Find `n=1 to infinity` or `k=0..n`, also in brackets."""
    for at in range(len(tokens) - 4):
        if tokens[at].kind not in _VARIABLE or tokens[at + 1].latex != "=":
            continue
        middle = next((n for n in range(at + 3, min(len(tokens) - 1, at + 8)) if _is_to(tokens[n])), -1)
        if middle < 0:
            continue
        start, end = at, _tight_end(tokens, middle + 1)
        scripts = _script(_BELOW, tokens[at:middle]) + _script(_ABOVE, tokens[middle + 1 : end])
        if at and tokens[at - 1].kind == "open" and end < len(tokens) and tokens[end].kind == "close":
            start, end = at - 1, end + 1
        while start and tokens[start - 1].kind == "comma":
            start -= 1
        return scripts, tokens[:start] + tokens[end:]
    return [], tokens


def _range_first(tokens: Tokens) -> tuple[Tokens, Tokens]:
    """Find `0 to 1` directly behind the operator."""
    first = _tight_end(tokens, 0)
    if not first or first >= len(tokens) - 1 or not _is_word(tokens[first], "to"):
        return [], tokens
    end = _tight_end(tokens, first + 1)
    return _script(_BELOW, tokens[:first]) + _script(_ABOVE, tokens[first + 1 : end]), tokens[end:]


def _is_to(token: Token) -> bool:
    return _is_word(token, "to") or token.text in ("..", "...", "…")


def _tight_end(tokens: Sequence[Token], start: int) -> int:
    """Return the end of the tokens from `start` without blanks; a bracket that they do not open ends them."""
    depth, at = 0, start
    while at < len(tokens):
        token = tokens[at]
        if depth == 0 and (token.kind in ("close", "comma", "relation", "word") or (at > start and token.space)):
            break
        depth += (token.kind == "open") - (token.kind == "close")
        at += 1
    return at


def _script(mark: Token, tokens: Sequence[Token]) -> Tokens:
    return [mark, _OPEN, *tokens, _CLOSE] if tokens else []


def _with_differential(operator: Token, scripts: Tokens, rest: Tokens) -> Tokens:
    """Return operator, bounds and operand; an integral without a differential gets one if its variable is evident."""
    if operator.latex in _INTEGRALS and rest and not any(one.kind == "differential" for one in rest):
        typed = {token.text for token in rest}
        variable = next((name for name in VARIABLES if name in typed), "")
        if variable:
            depth = 0
            end = len(rest)
            for at, token in enumerate(rest):
                depth += (token.kind == "open") - (token.kind == "close")
                if depth == 0 and token.kind == "relation":
                    end = at
                    break
            rest = [*rest[:end], Token("differential", f"d{variable}", f"d{variable}", True), *rest[end:]]
    return [operator, *scripts, *rest]


def _operator_first(tokens: Tokens) -> Tokens:
    """Move an integral or a limit that is named after its operand to the front: `1/x integral from 1 to 2`."""
    last = max((at for at, token in enumerate(tokens) if token.kind == "big"), default=0)
    rest = tokens[last + 1 :]
    late = last > 0 and tokens[last].text.isalpha() and len(tokens[last].text) > 3
    first = not any(token.kind == "big" for token in tokens[:last])
    if late and first and (not rest or _only_bounds(tokens[last], rest)):
        return [tokens[last], *rest, tokens[0]._replace(space=True), *tokens[1:last]]
    return tokens


def _only_bounds(operator: Token, rest: Tokens) -> bool:
    find = (_condition,) if operator.latex in _WITH_CONDITION else (_from_to, _range_first)
    return any(scripts and not left for scripts, left in (one(rest) for one in find))


def _arguments(tokens: Tokens) -> Tokens:
    """Rewrite calls of computer algebra: `int(f, x, 0, 1)`, `sum(f, n=1..inf)`, `limit(f, x, 0)`, `int(f, x)`."""
    for at, token in enumerate(tokens[:-1]):
        if token.kind != "big" or tokens[at + 1].latex != "(" or tokens[at + 1].space:
            continue
        parts, end = _split_arguments(tokens, at + 1)
        made = _call(token, parts)
        if made:
            return tokens[:at] + made + _arguments(tokens[end:])
    return tokens


def _split_arguments(tokens: Tokens, start: int) -> tuple[list[Tokens], int]:
    """Return the arguments of the bracket at `start`, and the position behind it."""
    parts: list[Tokens] = [[]]
    depth = 0
    for at in range(start, len(tokens)):
        token = tokens[at]
        depth += (token.kind == "open") - (token.kind == "close")
        if depth == 0:
            return parts, at + 1
        if depth == 1 and token.kind == "comma":
            parts.append([])
        elif at > start:
            parts[-1].append(token)
    return [], len(tokens)


def _call(operator: Token, parts: list[Tokens]) -> Tokens:
    """Return operator, bounds and operand of a call with these arguments; nothing if it is no such call."""
    if len(parts) < 2 or not all(parts):
        return []
    body = [_OPEN, *parts[0], _CLOSE]
    single = len(parts[1]) == 1 and parts[1][0].kind in OPERANDS
    if operator.latex in _WITH_CONDITION and len(parts) in (2, 3):
        if len(parts) == 3 and single:
            return [operator, *_script(_BELOW, [*parts[1], _TO, *parts[2]]), *body]
        condition = [_TO if token.kind == "relation" else token for token in parts[1]]
        return [operator, *_script(_BELOW, condition), *body] if len(condition) > 2 else []
    differential = [Token("differential", f"d{parts[1][0].latex}", "d", True)] if operator.latex in _INTEGRALS else []
    if single and len(parts) == 4:
        below = parts[2] if differential else [*parts[1], _EQUALS, *parts[2]]
        return [operator, *_script(_BELOW, below), *_script(_ABOVE, parts[3]), *body, *differential]
    if single and len(parts) == 2 and differential:
        return [operator, *body, *differential]
    scripts, left = _assigned(parts[1])
    if len(parts) == 2 and scripts and not left:
        bounds = [*_script(_BELOW, scripts[4 : scripts.index(_CLOSE)]), *scripts[scripts.index(_CLOSE) + 1 :]]
        return [operator, *(bounds if differential else scripts), *body, *differential]
    return []
