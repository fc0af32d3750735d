"""The renderers of text with formulas as plain text, for the terminal, and as the official HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from functools import lru_cache

from porism.text.delimiters import math_span
from porism.text.markup import unescape
from porism.text.segment import STORED, TAG, WORDS, Segment, Text, stored_formula

# Tags that end a line of plain text.
BLOCK = re.compile(r"</?(?:p|div|li|br|h[1-6]|pre|blockquote|tr|dd|dt|hr|table|ul|ol|dl)\b", re.IGNORECASE)
# The look behind keeps the time in proportion to the length of a run of spaces.
BLANK_LINES = re.compile(r"(?<![ \t])[ \t]*+\n(?:[ \t]*+\n)++")
# Tags that comments of the site write as marks.
COMMENT_MARKS = {"code": "`", "strong": "**", "em": "*"}
COMMENT_TAG = re.compile(r"<(/?)(code|strong|em)>")
LINK = re.compile(r'<a href="([^"]*)"')


def prose(text: Text) -> list[Segment]:
    """Return text and formulas in turn, without mark-up: tags of blocks become line ends, other tags disappear."""
    found: list[Segment] = []
    words: list[str] = []
    # The stored form is read directly: a post has hundreds of tags, and most of them leave nothing.
    for mark, content in STORED.findall(text.stored):
        if mark == WORDS:
            words.append(content)
        elif mark == TAG:
            if ends_line(content):
                words.append("\n")
        else:
            if words:
                found.append(Segment("text", "".join(words)))
                words = []
            found.append(stored_formula(mark, content))
    if words:
        found.append(Segment("text", "".join(words)))
    return found


@lru_cache(1000)
def ends_line(tag: str) -> bool:
    """Return whether a tag ends a line of plain text."""
    return BLOCK.match(tag) is not None


def plain_text(text: Text, formula: Callable[[Segment], str] = lambda segment: f"${segment.text}$") -> str:
    """Return text without mark-up; `formula` gives what to write for each formula.

    >>> plain_text(Text.of([Segment("tag", "<p>"), Segment("text", "Let "), Segment("formula", "a<b", 7)])).strip()
    'Let $a<b$'
    """
    return "".join(formula(segment) if segment.is_formula else segment.text for segment in prose(text))


def terminal_text(text: Text) -> str:
    """Return plain text for a terminal, paragraphs apart by one empty line."""
    return BLANK_LINES.sub("\n\n", plain_text(text).strip())


def escape_text(text: str) -> str:
    """Return text as HTML."""
    return html.escape(text, quote=False).replace("\xa0", "&nbsp;")


def official_html(text: Text) -> str:
    """Return the official HTML form: each formula is a `math-container` span with its id and escaped LaTeX."""
    return "".join(_official(mark, content) for mark, content in STORED.findall(text.stored))


def _official(mark: str, content: str) -> str:
    if mark == TAG:
        return content
    if mark == WORDS:
        return escape_text(content)
    segment = stored_formula(mark, content)
    return math_span(segment.text, segment.formula_id, segment.display)


def comment_source(text: Text) -> str:
    """Return a comment as typed, with the site's marks for code, emphasis and links; formulas as spans."""
    out: list[str] = []
    address = ""
    for segment in text.segments:
        if segment.kind == "text":
            out.append(segment.text)
        elif segment.kind == "formula":
            out.append(math_span(segment.text, segment.formula_id, segment.display))
        elif mark := COMMENT_TAG.fullmatch(segment.text):
            out.append(COMMENT_MARKS[mark[2]])
        elif link := LINK.match(segment.text):
            address = unescape(link[1])
            out.append("[")
        elif segment.text == "</a>":
            out.append(f"]({address})")
        else:
            out.append(segment.text)
    return "".join(out)
