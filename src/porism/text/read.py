"""Reading text into segments: the official HTML form of the lab's collection and topics, and plain text.

In the official form each formula is a `math-container` span with an id and escaped LaTeX."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import NamedTuple

from porism.text.find import Syntax, find_formulas, one_line
from porism.text.markup import MATH_CLASS, USUAL_SPAN, decode_latex, math_spans
from porism.text.sanitize import Segmented, clean, placeholder, segment_html, without_placeholders
from porism.text.segment import Segment, Text

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
