"""Clean HTML: a real parser keeps only whitelisted tags, and formulas never pass through it.

Each formula is cut out before the parser sees the text; a placeholder of private characters keeps its position."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import nh3

from porism.text.markup import limit_attributes, limit_depth, unescape
from porism.text.segment import Segment, Text, TextWriter, without_marks

TAGS = frozenset(
    [
        "a", "b", "blockquote", "br", "code", "dd", "del", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5",
        "h6", "hr", "i", "img", "kbd", "li", "ol", "p", "pre", "s", "strike", "strong", "sub", "sup", "table",
        "tbody", "td", "th", "thead", "tr", "ul",
    ]
)  # fmt: skip
ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title", "width", "height"},
    "ol": {"start"},
    "td": {"align"},
    "th": {"align"},
}
SCHEMES = {"http", "https", "mailto", "ftp"}

# Prepared once: reading the whitelist takes as long as cleaning a post.
CLEANER = nh3.Cleaner(tags=set(TAGS), attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel="nofollow noopener")

OPEN, CLOSE = "\ue000", "\ue001"
PLACEHOLDER = re.compile(f"{OPEN}([0-9]+){CLOSE}")
FORGED = re.compile(rf"[{OPEN}{CLOSE}]|&#(?:x0*e00[01](?![0-9a-f])|0*5734[45](?![0-9]));?", re.IGNORECASE)
TAG = re.compile(r"<[^>]*>")
TAG_OR_PLACEHOLDER = re.compile(f"(<[^>]*>|{OPEN}[0-9]+{CLOSE})")


def placeholder(number: int) -> str:
    """Return the mark that keeps the position of formula `number` while the text is cleaned."""
    return f"{OPEN}{number}{CLOSE}"


def without_placeholders(text: str) -> str:
    """Replace placeholders that a source brings itself, as characters or as entities that the parser would decode."""
    return FORGED.sub("\ufffd", text) if OPEN in text or CLOSE in text or "&#" in text else text


def clean(text: str) -> str:
    """Return HTML with only the tags and attributes of the whitelist; everything else is dropped or escaped."""
    text = limit_depth(limit_attributes(text))
    try:
        return CLEANER.clean(text)
    except UnicodeEncodeError:  # lone surrogates, which JSON can bring, are no characters
        return CLEANER.clean(text.encode("utf-8", "replace").decode())


def fill(text: str, replacement: Callable[[int], str]) -> str:
    """Replace placeholder n by `replacement(n)`."""
    return PLACEHOLDER.sub(lambda match: replacement(int(match[1])), text)


class Segmented(NamedTuple):
    """Clean HTML as segments, the formula's number at each position, and formulas with too large macros."""

    text: Text
    numbers: list[int]
    unexpanded: int = 0


def segment_html(cleaned: str, formulas: Sequence[Segment], keep_all: bool = False) -> Segmented:
    """Segment clean HTML in which placeholder n keeps the position of `formulas[n]`.

    Inside a tag (in an attribute such as `alt`) only LaTeX can replace a placeholder; with `keep_all` the formula
    follows the tag as well."""
    writer = TextWriter()
    numbers: dict[int, None] = {}

    def put(number: int) -> None:
        if number < len(formulas) and number not in numbers:
            numbers[number] = None
            writer.formula(formulas[number])

    def latex(number: int) -> str:
        return html.escape(formulas[number].text) if number < len(formulas) else ""

    for at, piece in enumerate(TAG_OR_PLACEHOLDER.split(without_marks(cleaned))):
        if not piece:
            continue
        if at % 2 == 0:
            writer.words(unescape(piece))
        elif piece[0] == OPEN:
            put(int(piece[1:-1]))
        elif OPEN in piece:
            writer.tag(fill(piece, latex))
            for number in PLACEHOLDER.findall(piece) if keep_all else ():
                put(int(number))
        else:
            writer.tag(piece)
    return Segmented(writer.text(), list(numbers))
