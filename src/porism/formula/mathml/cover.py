"""How matched places are shown: what matched as a whole is lit as a whole, what matched but for its inside is framed."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from porism.formula.mathml.clean import light

_TAG = re.compile(r"<(/?)([a-z]+)[^>]*>")
_NEUTRAL = re.compile(r"[()\[\]{}\u2061-\u2064]?<")
_TOKENS = frozenset(("mi", "mn", "mo", "mtext", "ms"))


class Cover(NamedTuple):
    """Places (pre-order numbers of elements): those lit whole, none inside another, and those framed."""

    whole: frozenset[int]
    frames: frozenset[int]


def lit(mathml: str, places: Collection[int]) -> str:
    """Clean MathML with these places shown: class `lit` fills an element, `frame` is drawn around it."""
    found = cover(mathml, places)
    return light(light(mathml, found.whole), found.frames, "frame")


def cover(mathml: str, places: Collection[int]) -> Cover:
    """The largest elements of which every symbol is among the places, and the elements among the places that have other symbols too.

    Brackets and signs that nobody sees belong to what is around them.
    """
    wanted = frozenset(places)
    ends: list[int] = []
    symbols, chosen = [0], [0]  # how many stand before each element
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
    whole: set[int] = set()
    frames: set[int] = set()
    reached = 0
    for at, end in enumerate(ends):
        if at < reached:
            continue
        inside = symbols[end] - symbols[at]
        if inside and chosen[end] - chosen[at] == inside:
            whole.add(at)
            reached = end
        elif at in wanted:
            frames.add(at)
    return Cover(frozenset(whole), frozenset(frames))
