"""Reading text into segments: clean HTML, the official HTML form of the lab's collection and topics, and plain text.

HTML is cleaned by a real parser, which keeps only whitelisted tags; formulas never pass through it. Each is cut out
before, and a placeholder of private characters keeps its position. In the official form each formula is a
`math-container` span with an id and escaped LaTeX."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import nh3

from porism.text.find import Syntax, find_formulas, one_line
from porism.text.markup import (
    CLOSE,
    MATH_CLASS,
    OPEN,
    USUAL_SPAN,
    decode_latex,
    limit_attributes,
    limit_depth,
    math_spans,
    placeholder,
    unescape,
)
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

PLACEHOLDER = re.compile(f"{OPEN}([0-9]+){CLOSE}")
FORGED = re.compile(rf"[{OPEN}{CLOSE}]|&#(?:x0*e00[01](?![0-9a-f])|0*5734[45](?![0-9]));?", re.IGNORECASE)
TAG = re.compile(r"<[^>]*>")
TAG_OR_PLACEHOLDER = re.compile(f"(<[^>]*>|{OPEN}[0-9]+{CLOSE})")


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


# Formulas of posts have numbers as ids, those of topics `q_12`.
NUMBER = re.compile(r"(?:q_)?([0-9]{1,18})")
UNMARKED = re.compile(r"\$|\\(?:begin|\(|\[)")


class Cut(NamedTuple):
    """HTML with a placeholder in place of each official span, and the formulas."""

    text: str
    formulas: list[Segment]


def official_number(identifier: str) -> int:
    """Return the number in the id of an official span (`7` or `q_7`), or 0."""
    found = NUMBER.fullmatch(identifier)
    return int(found[1]) if found else 0


def cut_official(text: str) -> Cut:
    """Cut out the official spans; the LaTeX of each is decoded once."""
    if MATH_CLASS not in text:
        return Cut(text, [])
    # Text, display span, id and LaTeX in turn; only a span in another form than usual leaves its class in the text.
    pieces = USUAL_SPAN.split(text)
    if any(MATH_CLASS in words for words in pieces[::4]):
        return _cut_any(text)
    formulas = [
        Segment("formula", one_line(decode_latex(latex)), int(identifier), display=bool(display))
        for display, identifier, latex in zip(pieces[1::4], pieces[2::4], pieces[3::4], strict=True)
    ]
    out = [pieces[0]]
    for at, words in enumerate(pieces[4::4]):
        out += (placeholder(at), words)
    return Cut("".join(out), formulas)


def _cut_any(text: str) -> Cut:
    """Cut out official spans in any form: other attributes, no id, tags inside."""
    pieces: list[str] = []
    formulas: list[Segment] = []
    at = 0
    for span in math_spans(text):
        pieces += (text[at : span.start], placeholder(len(formulas)))
        latex = one_line(decode_latex(text[span.inner_start : span.inner_end]))
        formulas.append(Segment("formula", latex, official_number(span.id), display=span.display))
        at = span.end
    return Cut("".join([*pieces, text[at:]]), formulas)


def segment_official(
    text: str, syntax: Syntax = "html", to_html: Callable[[str], str] = clean, unmarked: bool = True
) -> Segmented:
    """Segment the official form; `to_html` makes clean HTML of what is not a formula.

    With `unmarked`, formulas outside the official spans are found too, since pages render them: `$..$`, or an
    environment such as `\\begin{align}` without dollar signs. They have no id."""
    cut = cut_official(without_placeholders(text))
    unexpanded = 0
    if unmarked and UNMARKED.search(cut.text):
        first = len(cut.formulas)
        found = find_formulas(cut.text, syntax, first=first)
        more = [Segment("formula", latex, display=at in found.displayed) for at, latex in enumerate(found.latex, first)]
        cut, unexpanded = Cut(found.text, [*cut.formulas, *more]), found.unexpanded
    return segment_html(to_html(cut.text), cut.formulas, keep_all=True)._replace(unexpanded=unexpanded)


def read_official(text: str) -> Text:
    """Return the text of the official HTML form, for example of a topic."""
    return segment_official(text).text


def read_plain(text: str) -> Text:
    """Return plain text with LaTeX between dollar signs, such as a system's answer; line ends become `<br>`."""
    found = find_formulas(without_placeholders(text), "text")
    formulas = [Segment("formula", latex, display=at in found.displayed) for at, latex in enumerate(found.latex)]
    written = html.escape(found.text.replace("\\$", "$"), quote=False).replace("\n", "<br>")
    return segment_html(written, formulas).text
