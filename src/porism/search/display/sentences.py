"""Posts split into sentences and formulas, and the best passage of them.

A source may leave formulas as text: environments without dollar signs, and formulas between dollar signs that no reader
found. The lab's files mark formulas by spans, but cut an environment with a formula inside its text in pieces. For
display they are joined; the collection keeps the text as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from porism.text.delimiters import ENVIRONMENTS
from porism.text.render import BLOCK, prose
from porism.text.segment import DISPLAY, FORMULA, INLINE, TAG, WORDS, Segment, Text, stored_formula

MAX_POSTS = 1_000  # that are kept as pieces for the next query
FORMULA_MARKS = (INLINE, DISPLAY)
_FULL_STOP = re.compile(r"(?<!i\.e)(?<!e\.g)(?<!s\.t)(?<!w\.r\.t)(?<!\bcf)[.?!]\s+(?=[A-Z(]|\Z)|\n\s*\n")
_CONTENT = "[^\x1c-\x1f]*+"
_BLOCK_TAG = re.compile(f"{TAG}{BLOCK.pattern}{_CONTENT}", BLOCK.flags)
_OTHER_TAG = re.compile(f"{TAG}{_CONTENT}")
_EXPRESSION = re.compile(f"[{INLINE}{DISPLAY}][0-9]+ ([0-9]+)")
# A formula, or a piece of text up to its sentence end. Text may be cut by marks of text, where tags were. Regular
# expressions take marks for white space, so they are excluded from it.
_SPACES = f"(?:{WORDS}*+[^\\S\x1c-\x1f])"
_PIECE = re.compile(
    f"[{INLINE}{DISPLAY}]{_CONTENT}"
    f"|(?:[^.?!:;\n{INLINE}{DISPLAY}]++|[.?!:;](?!{_SPACES}))*+(?:[.?!:;]{_SPACES}++|\n(?:{WORDS}*+\n)*+)?+"
)

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
    """Return the LaTeX of an environment, the text after it, and how many segments it takes; None if it never ends."""
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


@lru_cache(MAX_POSTS)
def split_pieces(text: Text) -> tuple[str, ...]:
    """Split a post into sentences and formulas, in a compact form that `joined_segments` reads.

    A sentence is its text with the white space after it. A formula is its mark and stored content. Only the pieces that
    are shown become segments: a post has fifty pieces, a snippet five."""
    stored = _OTHER_TAG.sub(WORDS, _BLOCK_TAG.sub(f"{WORDS}\n", with_unmarked(text).stored))
    return tuple([piece for found in _PIECE.findall(stored) if (piece := found.replace(WORDS, ""))])


def joined_segments(pieces: Iterable[str]) -> list[Segment]:
    """Return pieces as segments. Neighbouring sentences become one text, and its line ends blanks."""
    segments: list[Segment] = []
    words = ""
    for piece in pieces:
        if piece[0] not in FORMULA_MARKS:
            words += piece
            continue
        if words:
            segments.append(Segment("text", words.replace("\n", " ")))
            words = ""
        segments.append(stored_formula(piece[0], piece[1:]))
    return [*segments, Segment("text", words.replace("\n", " "))] if words else segments


def expression_ids(text: Text) -> set[int]:
    """Return the ids of the expressions of a text."""
    return set(map(int, _EXPRESSION.findall(text.stored)))


def segment_width(segment: Segment) -> int:
    """Return the width of a segment in characters, with the dollar signs of a formula."""
    return len(segment.text) + 2 if segment.kind == "formula" else len(segment.text)


def best_window(weights: Sequence[float], widths: Sequence[float], limit: int) -> tuple[int, int]:
    """Return start and end of the window of at most this width with the largest weight; the first one of equals."""
    best, window = -1.0, (0, 0)
    last, width, total = 0, 0.0, 0.0
    count = len(weights)
    for first in range(count):
        while last < count and (width + widths[last] <= limit or last == first):
            width += widths[last]
            total += weights[last]
            last += 1
        if total > best + 1e-9:
            best, window = total, (first, last)
        width -= widths[first]
        total -= weights[first]
    return window


def whole_sentences(text: Text) -> list[list[Segment]]:
    """Split a post into sentences, each with its formulas. A display formula does not end a sentence."""
    return split_sentences(prose(with_unmarked(text)))


def split_sentences(segments: Iterable[Segment]) -> list[list[Segment]]:
    """Split text and formulas into sentences, each with its formulas."""
    sentences: list[list[Segment]] = [[]]
    for segment in segments:
        if segment.kind == "formula":
            sentences[-1].append(segment)
            continue
        at = 0
        for match in _FULL_STOP.finditer(segment.text):
            sentences[-1].append(Segment("text", segment.text[at : match.end()].replace("\n", " ")))
            sentences.append([])
            at = match.end()
        if at < len(segment.text):
            sentences[-1].append(Segment("text", segment.text[at:].replace("\n", " ")))
    return [sentence for sentence in sentences if any(piece.text.strip() for piece in sentence)]
