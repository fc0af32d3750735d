"""The renderer of pages, judging pages, exports and notebooks: segments become safe HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from porism.text.markup import unescape
from porism.text.read import ATTRIBUTES, SCHEMES, TAGS
from porism.text.segment import DISPLAY, STORED, TAG, WORDS, Segment, StoredPiece, Text, escape_text, stored_formula

# A formula keeps the sign that follows it on its line.
FOLLOWING = re.compile(r"[.,;:!?)\]]+")
OPENING = re.compile(r"<([a-z0-9]++)([^<>]*)>")
CLOSING = re.compile(r"</([a-z0-9]+)>")
ATTRIBUTE = re.compile(r' ([a-z]+)="([^"<>]*)"')
SAFE_ADDRESS = re.compile(rf"(?:{'|'.join(sorted(SCHEMES))}):|[^:]*(?:[/?#]|$)", re.IGNORECASE)
VOID = frozenset(("br", "hr", "img"))
# Tags without attributes, which are shown as they are; nearly all are of this kind. What a link or a picture shows is
# the renderer's choice.
PLAIN = frozenset((*(f"<{name}>" for name in TAGS - {"a", "img"}), *(f"</{name}>" for name in TAGS - VOID)))
# Elements that are a block of their own; anything between them becomes a paragraph.
BLOCKS = frozenset(["blockquote", "div", "dl", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "table", "ul"])


MOST_MATH = 8_000_000  # characters of HTML that the formulas of a page may take


Inline = tuple[str, bool]  # a piece of a line as HTML, and whether it is a formula


def flow(pieces: Iterable[Inline]) -> str:
    """Join pieces of HTML; a formula and the sign that follows it stay on one line."""
    out: list[str] = []
    after_formula = False
    for text, is_formula in pieces:
        sign = FOLLOWING.match(text) if after_formula and not is_formula else None
        if sign:
            out[-1] = f'<span class="kept">{out[-1]}{sign[0]}</span>'
            text = text[sign.end() :]
        out.append(text)
        after_formula = is_formula
    return "".join(out)


# What editors write where the author describes nothing.
NOT_DESCRIBED = frozenset(("", "enter image description here", "image", "alt text", "picture", "img"))
REMOTE_PICTURE = re.compile(r"https?://[^\s\"'<>]+\Z", re.IGNORECASE)


def remote_picture(alt: str, address: str) -> str:
    """Return a picture of another machine, for sites whose operator allows that."""
    if not REMOTE_PICTURE.match(address):
        return picture_in_words(alt, address)
    secure = re.sub(r"\Ahttp:", "https:", address, flags=re.IGNORECASE)
    return f'<img src="{html.escape(secure)}" alt="{html.escape(alt)}" loading="lazy" referrerpolicy="no-referrer">'


def link_as_it_is(href: str) -> str:
    """Return the opening tag of a link that leads where its author says, unless its scheme could run something."""
    return f'<a href="{html.escape(href)}" rel="nofollow noopener">' if SAFE_ADDRESS.match(href) else "<a>"


def picture_in_words(alt: str, address: str) -> str:
    """Return words in place of a picture: those of posts are on other machines, and no request leaves this one."""
    described = "" if alt.strip().lower() in NOT_DESCRIBED else f": {html.escape(alt)}"
    return f"<em>[picture{described}]</em>"


class MathBudget:
    """How much HTML the formulas of a page may still take; those beyond it are shown as LaTeX."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_MATH

    def whole_page(self) -> MathBudget:
        """Return this budget, for every text of a page."""
        return self

    def shown(self, segment: Segment, formula: Callable[[Segment], str]) -> str:
        """Return a formula as HTML."""
        if self.left <= 0:
            return f"<code>{escape_text(segment.text)}</code>"
        shown = formula(segment)
        self.left -= len(shown)
        return shown


@dataclass(frozen=True, slots=True)
class PageRenderer:
    """Renders texts as HTML of a page.

    `formula` gives the HTML of a formula, `link` the opening tag for an address, `picture` what is shown for a picture
    with this description at this address, `words` the HTML of a piece of text, `budget` that of a text: a new one, or
    the one of its page."""

    formula: Callable[[Segment], str]
    link: Callable[[str], str] = link_as_it_is
    picture: Callable[[str, str], str] = picture_in_words
    words: Callable[[str], str] = escape_text
    budget: Callable[[], MathBudget] = MathBudget

    def render(self, text: Text) -> str:
        """Return a text as HTML."""
        return self._html(STORED.findall(text.stored), self.budget())

    def blocks(self, text: Text) -> list[str]:
        """Return the top-level blocks of a text (paragraphs, lists, ...); anything between them becomes paragraphs."""
        budget = self.budget()
        html_of = [(self._html(group, budget), loose) for group, loose in _top_level(text)]
        return [f"<p>{block}</p>" if loose else block for block, loose in html_of]

    def _html(self, pieces: Iterable[StoredPiece], budget: MathBudget) -> str:
        return flow(self._inline(mark, content, budget) for mark, content in pieces)

    def _inline(self, mark: str, content: str, budget: MathBudget) -> Inline:
        if mark == TAG:
            return content if content in PLAIN else self._tag(content), False
        if mark == WORDS:
            return self.words(content), False
        shown = budget.shown(stored_formula(mark, content), self.formula)
        return (f'<span class="display">{shown}</span>', False) if mark == DISPLAY else (shown, True)

    def _tag(self, tag: str) -> str:
        """Write a tag anew from its allowed name and attributes: a page trusts no stored mark-up."""
        if closing := CLOSING.fullmatch(tag):
            return tag if closing[1] in TAGS and closing[1] not in VOID else ""
        opening = OPENING.fullmatch(tag)
        if opening is None or opening[1] not in TAGS:
            return ""
        name, attributes = opening[1], dict(ATTRIBUTE.findall(opening[2]))
        if name == "a":
            return self.link(unescape(attributes.get("href", "")))
        if name == "img":
            return self.picture(unescape(attributes.get("alt", "")), unescape(attributes.get("src", "")))
        kept = "".join(f' {key}="{attributes[key]}"' for key in sorted(ATTRIBUTES.get(name, ())) if key in attributes)
        return f"<{name}{kept}>"


class _Group(NamedTuple):
    """Pieces of a top-level block, or loose ones between blocks."""

    pieces: list[StoredPiece]
    loose: bool


def _top_level(text: Text) -> list[_Group]:
    """Split a text into its top-level blocks; blocks without any text are left out."""
    groups: list[_Group] = []
    current: list[StoredPiece] = []
    depth = 0
    for piece in STORED.findall(text.stored):
        name, step = STEPS.get(piece[1]) or _step(piece[1]) if piece[0] == TAG else ("", 0)
        if depth == 0 and step > 0 and name in BLOCKS:
            groups.append(_Group(current, True))
            current, depth = [piece], 1
            continue
        current.append(piece)
        if depth:
            depth += step
            if depth == 0:
                groups.append(_Group(current, False))
                current = []
    groups.append(_Group(current, depth == 0))
    return [group for group in groups if any(mark != TAG and content.strip() for mark, content in group.pieces)]


def _step(tag: str) -> tuple[str, int]:
    """Return the element of a tag, and +1 where it opens, -1 where it closes, 0 if it has no content."""
    if closing := CLOSING.fullmatch(tag):
        return closing[1], -1
    opening = OPENING.fullmatch(tag)
    return ("", 0) if opening is None or opening[1] in VOID else (opening[1], 1)


STEPS = {tag: _step(tag) for tag in PLAIN}
