"""Brackets of pages: `\\left(` and `\\right)` around low content do not stretch.

Browsers reserve for a bracket that can stretch the width of the widest one of the font, which leaves gaps beside
brackets of ordinary height: `( x )` instead of `(x)`. LaTeX takes brackets of ordinary height around content without
fractions, tables, roots and limits, so here they are marked as brackets that do not stretch."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

FENCES = frozenset("()[]{}|⟨⟩‖⌊⌋⌈⌉∣∥/")
# Elements that are higher than a line, and operators that are drawn large.
TALL_ELEMENTS = frozenset(
    ("mfrac", "mtable", "munder", "munderover", "msqrt", "mroot", "menclose", "mpadded", "mphantom")
)
TALL_OPERATORS = re.compile("[∑∏∐∫∬∭∮⋃⋂⨁⨂⨀⋁⋀⨆]")
_TAG = re.compile(r"<(/?)([a-z]++)([^<>]*+)>([^<]*+)")
_SCRIPTS = frozenset(("msup", "msub", "msubsup"))
_DEEPEST_SCRIPT = 2  # scripts of scripts are still low, their scripts are not


class _Tag(NamedTuple):
    """A tag of MathML and the text that follows it."""

    closing: str
    name: str
    attributes: str
    text: str


@dataclass(slots=True)
class _Open:
    """An open element: its name, whether it holds something tall, the levels of scripts in it, and the brackets among
    its children."""

    name: str
    tall: bool = False
    scripts: int = 0
    brackets: list[int] = field(default_factory=list)


def fit_fences(mathml: str) -> str:
    """Return MathML whose brackets around low content do not stretch."""
    tags = [_Tag(*found.groups()) for found in _TAG.finditer(mathml)]
    fixed: set[int] = set()
    stack = [_Open("")]
    for at, tag in enumerate(tags):
        if not tag.closing:
            if tag.name == "mo" and tag.text in FENCES and "stretchy" not in tag.attributes and not _has_size(tag):
                stack[-1].brackets.append(at)
            if not tag.attributes.endswith("/"):
                stack.append(_Open(tag.name, _is_tall(tag)))
        elif len(stack) > 1:
            done = stack.pop()
            if done.name == "mrow" and not done.tall and done.scripts <= _DEEPEST_SCRIPT:
                fixed.update(done.brackets)
            stack[-1].tall |= done.tall
            stack[-1].scripts = max(stack[-1].scripts, done.scripts + (done.name in _SCRIPTS))
    return "".join(_written(tag, at in fixed) for at, tag in enumerate(tags)) if fixed else mathml


def _has_size(tag: _Tag) -> bool:
    return "size=" in tag.attributes


def _is_tall(tag: _Tag) -> bool:
    if tag.name == "mo":
        return _has_size(tag) or TALL_OPERATORS.match(tag.text) is not None
    return tag.name in TALL_ELEMENTS or (tag.name == "mover" and "accent" not in tag.attributes)


def _written(tag: _Tag, fixed: bool) -> str:
    added = ' stretchy="false"' if fixed else ""
    return f"<{tag.closing}{tag.name}{tag.attributes}{added}>{tag.text}"
