"""Bounds for lengths in MathML: `\\hspace{99999em}` must not make a page unreadable for everything else on it."""

from __future__ import annotations

import re

LARGEST_EM = 40.0  # a single length
LARGEST_TOTAL_EM = 200.0  # all widths and heights of a formula together
_EM = {
    "em": 1.0,
    "rem": 1.0,
    "ex": 0.5,
    "px": 1 / 16,
    "pt": 1 / 12,
    "pc": 1.0,
    "mm": 0.24,
    "cm": 2.4,
    "in": 6.0,
    "%": 0.01,
}
_LENGTH = re.compile(
    r' (depth|height|linethickness|lspace|maxsize|minsize|rspace|voffset|width)="([+-]?)([0-9.]++) ?([a-z%]*+)[^"]*+"',
    re.IGNORECASE,
)
_SCRIPT_LEVEL = re.compile(r' scriptlevel="([^"]*)"')
_SPAN = re.compile(r' (columnspan|rowspan)="([^"]*)"')
MOST_SPANNED = 100


def bounded_lengths(mathml: str) -> str:
    """Return MathML whose lengths are at most LARGEST_EM each and LARGEST_TOTAL_EM together; font sizes only get smaller."""
    total = 0.0

    def length(found: re.Match[str]) -> str:
        nonlocal total
        name, sign, number, unit = found[1], found[2], found[3], found[4].lower()
        try:
            size = float(number) * _EM[unit or "em"]
        except (ValueError, KeyError):
            return ""  # not a length that a browser knows
        bounded = min(size, LARGEST_EM, max(0.0, LARGEST_TOTAL_EM - total))
        total += bounded
        return found[0] if bounded == size else f' {name}="{sign}{bounded:g}em"'

    if _LENGTH.search(mathml):
        mathml = _LENGTH.sub(length, mathml)
    if " scriptlevel=" in mathml:
        mathml = _SCRIPT_LEVEL.sub(_script_level, mathml)
    return _SPAN.sub(_span, mathml) if "span=" in mathml else mathml


def _script_level(found: re.Match[str]) -> str:
    """Keep levels that make text smaller, or of normal size."""
    return found[0] if re.fullmatch(r"\+?[0-9]{1,2}", found[1]) else ""


def _span(found: re.Match[str]) -> str:
    return found[0] if found[2].isascii() and found[2].isdecimal() and int(found[2][:6]) <= MOST_SPANNED else ""
