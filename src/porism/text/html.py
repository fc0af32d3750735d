"""HTML of posts: cleaned by a real parser, with formulas that never pass through it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import nh3

TAGS = {
    *(
        "a",
        "b",
        "blockquote",
        "br",
        "code",
        "dd",
        "del",
        "div",
        "dl",
        "dt",
        "em",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "i",
    ),
    *(
        "img",
        "kbd",
        "li",
        "ol",
        "p",
        "pre",
        "s",
        "strike",
        "strong",
        "sub",
        "sup",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
    ),
}
ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title", "width", "height"},
    "ol": {"start"},
    "td": {"align"},
    "th": {"align"},
}
SCHEMES = {"http", "https", "mailto", "ftp"}

# A formula is cut out before the parser sees the text; these two private characters hold its place.
OPEN, CLOSE = "\ue000", "\ue001"
# Around the span of a formula that stands on a line of its own.
DISPLAY = '<span class="display">'
TOKEN = re.compile(f"{OPEN}([0-9]+){CLOSE}")
FORGED = re.compile(rf"[{OPEN}{CLOSE}]|&#(?:x0*e00[01](?![0-9a-f])|0*5734[45](?![0-9]));?", re.IGNORECASE)
TAG_OR_TOKEN = re.compile(f"<[^>]*>|{TOKEN.pattern}")
SPAN = re.compile(r'<span class="math-container" id="([0-9]+)">(.*?)</span>', re.DOTALL)
ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
TAG = re.compile(r"<[^>]*>")
BLOCK = re.compile(r"</?(?:p|div|li|br|h[1-6]|pre|blockquote|tr|dd|dt|hr|table|ul|ol|dl)\b[^>]*>", re.IGNORECASE)


class Segment(NamedTuple):
    """A stretch of a post: text without mark-up (formula_id 0), or a formula (its id and LaTeX)."""

    text: str
    formula_id: int = 0


def unescape(text: str) -> str:
    """Entities that end in a semicolon, once: LaTeX such as `a&notin b` stays as it is."""
    return ENTITY.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text


def token(number: int) -> str:
    """The place of formula `number` of a field while the text is cleaned."""
    return f"{OPEN}{number}{CLOSE}"


def without_tokens(text: str) -> str:
    """A source must not bring tokens of its own, neither as characters nor as entities that the parser would decode."""
    return FORGED.sub("\ufffd", text)


def clean(text: str) -> str:
    """Only the tags and attributes of the whitelist; everything else is dropped or escaped."""
    return nh3.clean(text, tags=TAGS, attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel="nofollow noopener")


def span(number: int, latex: str) -> str:
    """A formula as it stands in the collection's text."""
    return f'<span class="math-container" id="{number}">{html.escape(latex, quote=False)}</span>'


def displayed_span(number: int, latex: str) -> str:
    """A formula on a line of its own."""
    return f"{DISPLAY}{span(number, latex)}</span>"


def fill(text: str, put: Callable[[int], str]) -> str:
    """Replace every token; `put` gives what stands there."""
    return TOKEN.sub(lambda match: put(int(match[1])), text)


def tokens_in_text(text: str) -> list[int]:
    """Tokens that stand in the text, not inside a tag, in order."""
    return [int(match[1]) for match in TAG_OR_TOKEN.finditer(text) if match[1]]


def segments(text: str) -> Iterator[Segment]:
    """Text and formulas of a post in turn, without mark-up; block tags become line ends."""
    at = 0
    for match in SPAN.finditer(text):
        if words := _words(text[at : match.start()]):
            yield Segment(words)
        yield Segment(html.unescape(match[2]), int(match[1]))
        at = match.end()
    if words := _words(text[at:]):
        yield Segment(words)


def _words(text: str) -> str:
    return html.unescape(TAG.sub("", BLOCK.sub("\n", text)))


def plain(text: str, formula: Callable[[Segment], str] | None = None) -> str:
    """A post as text. Formulas stand between dollar signs, or as `formula` says (an empty string drops them).

    >>> plain('<p>Let <span class="math-container" id="7">a&lt;b</span>.</p>').strip()
    'Let $a<b$.'
    """
    put = formula or (lambda segment: f"${segment.text}$")
    return "".join(put(part) if part.formula_id else part.text for part in segments(text))


def formula_ids(text: str) -> list[int]:
    """The ids of the formulas of a post's HTML, in order of place."""
    return [int(match[1]) for match in SPAN.finditer(text)]


def render(text: str, formula_mathml: Callable[[int, str], str]) -> str:
    """The page's HTML: `formula_mathml(id, latex)` gives what stands in place of each formula."""
    return SPAN.sub(lambda match: formula_mathml(int(match[1]), html.unescape(match[2])), text)


def place(text: str, latex: Sequence[str], ids: Sequence[int], displayed: Collection[int] = ()) -> str:
    """Put formulas in place of the tokens 0, 1, 2, ... of a cleaned text."""

    def put(number: int) -> str:
        return (displayed_span if number in displayed else span)(ids[number], latex[number])

    return fill(text, put)
