"""Highlight matched elements of MathML: fill what matched as a whole, frame what matched except for its inside."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

_TAG = re.compile(r"<(/?)([a-z]++)[^<>]*+>")
_OPEN_TAG = re.compile(r"<([a-z]++)([^<>]*+)>")
_NEUTRAL = re.compile(r"[()\[\]{}\u2061-\u2064]?<")
_TOKENS = frozenset(("mi", "mn", "mo", "mtext", "ms"))


class Coverage(NamedTuple):
    """Elements (by pre-order number) to fill, none inside another, and elements to frame."""

    filled: frozenset[int]
    framed: frozenset[int]


def highlight(mathml: str, places: Collection[int]) -> str:
    """Return clean MathML with these places highlighted: class `highlight` fills an element, class `frame` frames it."""
    found = coverage(mathml, places)
    return add_class(add_class(mathml, found.filled), found.framed, "frame")


def add_class(mathml: str, places: Collection[int], name: str = "highlight") -> str:
    """Return clean MathML with a class on the elements at these places (pre-order numbers; `math` is 0)."""
    wanted = frozenset(places)
    number = -1

    def mark(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        return f'<{found[1]} class="{name}"{found[2]}>' if number in wanted else found[0]

    return _OPEN_TAG.sub(mark, mathml)


def coverage(mathml: str, places: Collection[int]) -> Coverage:
    """Return the largest elements whose symbols are all among the places, and the elements among the places that have other symbols too.

    Brackets and invisible operators do not count as symbols.
    """
    wanted = frozenset(places)
    ends: list[int] = []
    symbols, chosen = [0], [0]  # running totals before each element
    open_: list[int] = []
    for tag in _TAG.finditer(mathml):
        if tag[1]:
            ends[open_.pop()] = len(ends)
            continue
        number = len(ends)
        open_.append(number)
        ends.append(0)
        symbol = tag[2] in _TOKENS and not _NEUTRAL.match(mathml, tag.end())
        symbols.append(symbols[-1] + symbol)
        chosen.append(chosen[-1] + (symbol and number in wanted))
    filled: set[int] = set()
    framed: set[int] = set()
    reached = 0
    for at, end in enumerate(ends):
        if at < reached:
            continue
        inside = symbols[end] - symbols[at]
        if inside and chosen[end] - chosen[at] == inside:
            filled.add(at)
            reached = end
        elif inside and at in wanted:  # a bracket alone has no frame
            framed.add(at)
    return Coverage(frozenset(filled), frozenset(framed))
