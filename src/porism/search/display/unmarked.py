"""Formulas that a source left as text: environments without dollar signs, and formulas between dollar signs that no
reader found.

The lab's files mark formulas by spans, but an environment with a formula inside its text was cut in pieces there. For
display they are joined again. The collection keeps the text as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from porism.text.delimiters import ENVIRONMENTS
from porism.text.segment import FORMULA, Segment, Text

MAX_PIECES = 60  # segments that one environment may be cut into
_BEGIN = re.compile(rf"\\begin\{{((?:{'|'.join(ENVIRONMENTS)})\*?)\}}")
_DOLLARS = re.compile(r"(?<![\\$\w])\$([^$\n]{1,400})\$(?![\w$])")
# What makes text between dollar signs a formula: a command, a script, an operator between symbols, or one letter. "$5
# and $10" is none.
_MATHS = re.compile(r"\\[A-Za-z]|[\^_=]|\A\s*[A-Za-z]\s*\Z")
_REFERENCE = re.compile(r"\\(?:eq)?ref\{([^{}\\]{1,40})\}")  # of an equation by its label
_MARKS = ("\\begin{", "$", "ref{")
_CODE_OPEN, _CODE_CLOSE = frozenset(("<code>", "<pre>")), frozenset(("</code>", "</pre>"))
# Mark-up that Markdown made of signs of a formula.
_MARKUP_SIGNS = {"<em>": "_", "</em>": "_", "<strong>": "**", "</strong>": "**"}


@lru_cache(1_000)
def with_unmarked(text: Text) -> Text:
    """Return a text in which unmarked environments and formulas between dollar signs are formulas."""
    stored = text.stored
    # Most of the marks are inside formulas: look for them anywhere first, which is fast, and then outside of formulas.
    if not _is_marked(stored) or not _is_marked(FORMULA.sub("", stored)):
        return text
    return Text.of(_joined(text.segments))


def _is_marked(stored: str) -> bool:
    return any(mark in stored for mark in _MARKS)


def _joined(segments: Sequence[Segment]) -> list[Segment]:
    out: list[Segment] = []
    queue = list(reversed(segments))
    in_code = 0
    while queue:
        piece = queue.pop()
        if piece.kind == "tag":
            in_code += (piece.text in _CODE_OPEN) - (piece.text in _CODE_CLOSE)
        if piece.kind != "text" or in_code:
            out.append(piece)
            continue
        begin = _BEGIN.search(piece.text)
        end = _end(queue, piece.text, begin) if begin else None
        if begin is None or end is None:
            out.extend(_between_dollars(piece.text))
            continue
        out.extend(_between_dollars(piece.text[: begin.start()]))
        latex, rest, used = end
        out.append(Segment("formula", latex, display=True))
        del queue[len(queue) - used :]
        queue.append(Segment("text", rest))
    return out


def _end(queue: Sequence[Segment], text: str, begin: re.Match[str]) -> tuple[str, str, int] | None:
    """Return the LaTeX of an environment, the text after it, and how many segments of the queue it takes; None if it
    never ends."""
    close = f"\\end{{{begin[1]}}}"
    collected = text[begin.start() :]
    used = 0
    while close not in collected:
        if used >= min(len(queue), MAX_PIECES):
            return None
        piece = queue[-1 - used]
        used += 1
        if piece.kind == "formula":
            collected += f"${piece.text}$"
        else:
            collected += piece.text if piece.kind == "text" else _MARKUP_SIGNS.get(piece.text, " ")
    at = collected.index(close) + len(close)
    return collected[:at], collected[at:], used


def _between_dollars(text: str) -> list[Segment]:
    text = _REFERENCE.sub(r"(\1)", text)
    out: list[Segment] = []
    at = 0
    for found in _DOLLARS.finditer(text):
        if not _MATHS.search(found[1]):
            continue
        out.append(Segment("text", text[at : found.start()]))
        out.append(Segment("formula", found[1].strip()))
        at = found.end()
    return [*out, Segment("text", text[at:])]
