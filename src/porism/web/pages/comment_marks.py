"""Marks of comments that a collection keeps as text: bare addresses become links, `_words_` emphasis, `[tag:name]` the name of the tag."""

from __future__ import annotations

import html
import re

from porism.text.segment import Segment, Text

# An address ends before the punctuation of its sentence; a bracket belongs to it only with its partner.
_MARK = re.compile(
    r"(?P<address>https?://[^\s<>\"()\[\]]+(?:\([^\s<>\"()]*\)[^\s<>\"()\[\]]*)*(?<![.,;:!?'*_]))"
    r"|(?<![\w_$\\^{])_(?P<emphasis>[^\s_](?:[^_\n]{0,200}[^\s_])?)_(?![\w_])"
    r"|\[(?:meta-)?tag:(?P<tag>[\w.#+-]{1,40})\]"
)
_OPENING, _CLOSING = frozenset(("a", "code")), frozenset(("</a>", "</code>"))


def with_comment_marks(text: Text) -> Text:
    """Return the text of a comment with its addresses, emphasis and tags as mark-up. Links and code stay as they are."""
    if not _MARK.search(text.stored):
        return text
    out: list[Segment] = []
    inside = 0
    for segment in text.segments:
        if segment.kind == "tag":
            name = re.match(r"<([a-z]+)", segment.text)
            inside += (name is not None and name[1] in _OPENING) - (segment.text in _CLOSING)
        out.extend(_marked(segment.text) if segment.kind == "text" and not inside else (segment,))
    return Text.of(out)


def _marked(text: str) -> list[Segment]:
    out: list[Segment] = []
    at = 0
    for found in _MARK.finditer(text):
        out += [Segment("text", text[at : found.start()]), *_element(found)]
        at = found.end()
    return [*out, Segment("text", text[at:])]


def _element(found: re.Match[str]) -> tuple[Segment, ...]:
    if address := found["address"]:
        return Segment("tag", f'<a href="{html.escape(address)}">'), Segment("text", address), Segment("tag", "</a>")
    name = "em" if found["emphasis"] else "code"
    return Segment("tag", f"<{name}>"), Segment("text", found["emphasis"] or found["tag"]), Segment("tag", f"</{name}>")
