"""Immutable values that print as the expression that makes them, and parse back from it.

A value is a frozen dataclass: `BM25(k1=1.2, b=0.75)` prints as itself. `parse_value` reads such an expression with a table of the
classes it may name. Only calls of these classes and plain literals are evaluated, so the text may come from a file or a command line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from porism.errors import PorismError


def parse_value(text: str, classes: Iterable[type], what: str = "value") -> Any:
    """Return the value that an expression describes, e.g. `BM25(k1=0.9)`; a bare name means all defaults.

    >>> from porism.store.weighting import BM25
    >>> parse_value("BM25(k1=0.9)", [BM25])
    BM25(k1=0.9, b=0.75)
    """
    known = {one.__name__: one for one in classes}
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise PorismError(f"{text!r} is not a {what}", fix=_example(known)) from None
    return _evaluate(tree, known, text, what)


def _evaluate(node: ast.expr, known: dict[str, type], text: str, what: str) -> Any:
    if isinstance(node, ast.Name):
        return _make(_named(node.id, known, what), [], {}, text, what)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        kind = _named(node.func.id, known, what)
        positional = [_evaluate_argument(one, known, text, what) for one in node.args]
        keywords = {str(one.arg): _evaluate_argument(one.value, known, text, what) for one in node.keywords}
        return _make(kind, positional, keywords, text, what)
    raise PorismError(f"{text!r} is not a {what}", fix=_example(known))


def _evaluate_argument(node: ast.expr, known: dict[str, type], text: str, what: str) -> Any:
    """A literal, or another value of the table."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return _evaluate(node, known, text, what)


def _named(name: str, known: dict[str, type], what: str) -> type:
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else _example(known)
        raise PorismError(f"no {what} is named {name}", fix=hint)
    return known[name]


def _make(kind: type, positional: list[Any], keywords: dict[str, Any], text: str, what: str) -> Any:
    try:
        return kind(*positional, **keywords)
    except (TypeError, ValueError) as error:
        raise PorismError(
            f"{text!r} is not a {what}: {error}", fix=f"its options are those of {kind.__name__}"
        ) from None


def _example(known: dict[str, type]) -> str:
    return f"write one of {', '.join(sorted(known))}, with options in brackets"
