"""Split a post into sentences and formulas, and choose the best passage of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from porism.search.display.unmarked import with_unmarked
from porism.text.render import BLOCK, prose
from porism.text.segment import DISPLAY, INLINE, TAG, WORDS, Segment, Text, stored_formula

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
