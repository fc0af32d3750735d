"""How formulas are marked in text: dollar signs, brackets, environments, and the official `math-container` span."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from porism.text.markup import Element, elements, replace_elements

MATH_CLASS = "math-container"
# The span around the official span of a formula on a line of its own.
DISPLAY_OPEN = '<span class="display">'
SPAN_CLOSE = "</span>"

# The opening tag of an official span: attributes come in any order and in either kind of quotes, and the id may be
# missing.
MATH_OPEN = rf"""<span\s(?=[^<>]{{0,300}}?\bclass=["']{MATH_CLASS}["'])[^<>]{{0,600}}>"""
MATH_SPAN = re.compile(MATH_OPEN)
# Its usual form in the files of the lab, which is found much faster: the id; and the whole span, with a display span
# around it or not.
MARKED_ID = re.compile(rf'<span class="{MATH_CLASS}" id="([0-9]{{1,18}})">')
USUAL_SPAN = re.compile(
    rf'({DISPLAY_OPEN})?<span class="{MATH_CLASS}" id="([0-9]{{1,18}})">([^<]*)</span>(?(1)</span>)'
)
SPAN_EDGE = re.compile(r"<(/?)span\b[^<>]*>")
SPAN_ID = re.compile(r"""\bid=["']([^"']*)["']""")

# A MathML element: its opening tag with its attributes, and its closing tag.
MATHML_OPEN = re.compile(r"<(?:\w+:)?math\b([^<>]*)>", re.IGNORECASE)
MATHML_CLOSE = re.compile(r"</(?:\w+:)?math\s*>", re.IGNORECASE)

# Opening and closing sign of LaTeX, and whether they set a formula on a line of its own.
DELIMITERS = (("$$", "$$", True), ("$", "$", False), ("\\[", "\\]", True), ("\\(", "\\)", False))

# Environments that are formulas by themselves. The first two only open and close a formula.
WRAPPERS = ("math", "displaymath")
ENVIRONMENTS = (
    *WRAPPERS,
    *("align", "alignat", "aligned", "array", "cases", "eqnarray", "equation", "flalign", "gather", "gathered"),
    *("multline", "split", "(?:[bBpvV]|small)?matrix"),
)
DISPLAY_ENVIRONMENT = re.compile(r"\\begin\{(?:align|alignat|eqnarray|equation|flalign|gather|multline)\*?\}")

# No formula of a person reaches these bounds; they keep hostile text from taking time that grows with its square.
LONGEST, DEEPEST = 30_000, 100


def mathml_elements(text: str) -> Iterator[Element]:
    """Yield the MathML elements of a text in order."""
    return elements(text, MATHML_OPEN, lambda _: MATHML_CLOSE)


def replace_mathml(text: str, replacement: Callable[[Element], str]) -> str:
    """Replace each MathML element of a text."""
    return replace_elements(text, MATHML_OPEN, lambda _: MATHML_CLOSE, replacement)


class MathSpan(NamedTuple):
    """An official span in HTML: its position, the position of its content, its id ("" without one)."""

    start: int
    end: int
    inner_start: int
    inner_end: int
    id: str
    display: bool


class Undressed(NamedTuple):
    """LaTeX without the signs around it, and those signs ("" where there were none)."""

    latex: str
    opening: str
    display: bool


def math_span(latex: str, identifier: int | str = "", display: bool = False) -> str:
    """Return a formula as the official span of escaped LaTeX.

    >>> math_span("a<b", 7)
    '<span class="math-container" id="7">a&lt;b</span>'
    """
    name = f' id="{identifier}"' if identifier != "" else ""
    span = f'<span class="{MATH_CLASS}"{name}>{html.escape(latex, quote=False)}{SPAN_CLOSE}'
    return f"{DISPLAY_OPEN}{span}{SPAN_CLOSE}" if display else span


def math_spans(text: str, *, unclosed: bool = False) -> Iterator[MathSpan]:
    """Yield the official spans of HTML in order; spans inside a span (from `\\text` or damage) belong to it.

    A span that is never closed is skipped, or with `unclosed` reaches to the end of the text."""
    at = 0
    while match := MATH_SPAN.search(text, at):
        edge = span_end(text, match.end())
        if edge is None and not unclosed:
            at = match.end()
            continue
        start = match.start()
        inner_end, end = (edge.start(), edge.end()) if edge else (len(text), len(text))
        display = text.endswith(DISPLAY_OPEN, at, start) and text.startswith(SPAN_CLOSE, end)
        if display:
            start, end = start - len(DISPLAY_OPEN), end + len(SPAN_CLOSE)
        yield MathSpan(start, end, match.end(), inner_end, span_id(match[0]), display)
        at = end


def span_id(tag: str) -> str:
    """Return the id of an opening tag, or ""."""
    found = SPAN_ID.search(tag)
    return found[1] if found else ""


def span_end(text: str, start: int, longest: int | None = None) -> re.Match[str] | None:
    """Return the closing tag of a span whose content starts at `start`, or None."""
    depth = 1
    end = len(text) if longest is None else start + longest
    for edge in islice(SPAN_EDGE.finditer(text, start, end), DEEPEST):
        depth += -1 if edge[1] else 1
        if depth == 0:
            return edge
    return None


def undress(inner: str) -> Undressed:
    """Take the delimiters off LaTeX that has them on both sides.

    >>> undress("$$ x+y $$")
    Undressed(latex='x+y', opening='$$', display=True)
    """
    for opening, closing, display in DELIMITERS:
        if inner.startswith(opening) and inner.endswith(closing) and len(inner) > len(opening) + len(closing):
            return Undressed(inner[len(opening) : -len(closing)].strip(), opening, display)
    return Undressed(inner, "", False)
