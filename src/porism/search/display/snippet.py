"""What a reader sees of a hit: the passage with most of what was asked, matched words and parts of formulas lit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from porism.index.analysis.terms import code
from porism.index.analysis.words import stems
from porism.search.answers.asked import Asked
from porism.search.display.highlight import Lighter, Lit
from porism.search.display.reading import mathml_of, part_codes
from porism.search.display.results import Segment
from porism.text.html import Segment as Raw
from porism.text.html import segments

LENGTH = 320  # characters of a snippet
MOST_LIT = 4  # formulas of a snippet that are compared symbol by symbol
FORMULA_LENGTH = 0.5  # a character of LaTeX takes less room than one of text
# What is kept of posts that were shown, so that it is not cut up again for the next query.
POSTS, SENTENCES, WORDS = 1_000, 20_000, 20_000
_SENTENCE = re.compile(r"(?<=[.?!:;])\s+|\n+")
WORD = re.compile(r"[^\W_]+")


class Shower:
    """Makes segments for one query."""

    def __init__(self, asked: Mapping[str, Asked], lighter: Lighter) -> None:
        words, parts = asked["words"], asked["parts"]
        self._words: dict[int, float] = dict(zip(words.codes.tolist(), words.power.tolist(), strict=True))
        self._parts: dict[int, float] = dict(zip(parts.codes.tolist(), parts.power.tolist(), strict=True))
        self._lighter = lighter

    def title(self, html: str) -> tuple[Segment, ...]:
        """A title, whole."""
        return self._segments(segments(html))

    def snippet(self, html: str, *, formulas: bool = True) -> tuple[Segment, ...]:
        """The best few sentences of a body, with marks where something was left out. Without `formulas` it is known that none of
        them has a part that was asked for."""
        pieces = sentences(html)
        first, last = self._window(pieces, LENGTH, FORMULA_LENGTH, formulas)
        shown = list(self._segments(pieces[first:last], formulas))
        if first > 0:
            shown.insert(0, Segment("text", "… "))
        if last < len(pieces):
            shown.append(Segment("text", " …"))
        return tuple(shown)

    def passage(self, html: str, limit: int) -> tuple[Segment, ...]:
        """The best stretch of a body that is no longer than so many characters, dollar signs counted."""
        pieces = sentences(html)
        first, last = self._window(pieces, limit, 1.0)
        kept = pieces[first:last]
        if sum(_size(piece, 1.0) for piece in kept) > limit:  # one sentence alone is longer
            kept = () if kept[0].formula_id else (Raw(kept[0].text[:limit]),)
        return self._segments(kept)

    def _window(self, pieces: Sequence[Raw], limit: int, formula: float, formulas: bool = True) -> tuple[int, int]:
        """The stretch of at most so many characters that weighs most; of equals the first."""
        weights = [0.0 if piece.formula_id and not formulas else self._weight(piece) for piece in pieces]
        sizes = [_size(piece, formula) for piece in pieces]
        best, where = -1.0, (0, 0)
        last, size, total = 0, 0.0, 0.0
        for first in range(len(pieces)):
            while last < len(pieces) and (size + sizes[last] <= limit or last == first):
                size += sizes[last]
                total += weights[last]
                last += 1
            if total > best + 1e-9:
                best, where = total, (first, last)
            size -= sizes[first]
            total -= weights[first]
        return where

    def _weight(self, piece: Raw) -> float:
        if not piece.formula_id:
            words = word_codes(piece.text) & self._words.keys() if self._words else ()
            return sum(self._words[number] for number in words)
        shared = part_codes(piece.text) & self._parts.keys() if self._parts else ()
        return sum(self._parts[number] for number in shared)

    def _segments(self, pieces: Iterable[Raw], formulas: bool = True) -> tuple[Segment, ...]:
        shown: list[Segment] = []
        compared = 0
        for piece in pieces:
            if not piece.formula_id:
                shown.extend(self._lit_words(piece.text))
                continue
            lit = Lit()
            if formulas and compared < MOST_LIT and self._weight(piece) > 0:
                compared += 1
                lit = self._lighter.best(piece.text)
            shown.append(
                Segment(
                    "formula", piece.text, mathml_of(piece.text), piece.formula_id, bool(lit.item_nodes), lit.item_nodes
                )
            )
        return tuple(shown)

    def _lit_words(self, text: str) -> Iterable[Segment]:
        """Text cut at the words that were asked for."""
        at = 0
        for match in WORD.finditer(text) if self._words else ():
            if word_code(match[0]) in self._words:
                if match.start() > at:
                    yield Segment("text", text[at : match.start()])
                yield Segment("text", match[0], lit=True)
                at = match.end()
        if at < len(text):
            yield Segment("text", text[at:])


@lru_cache(POSTS)
def sentences(html: str) -> tuple[Raw, ...]:
    """A post as sentences and formulas in turn."""
    return tuple(piece for raw in segments(html) for piece in _sentences(raw))


def _sentences(raw: Raw) -> Iterable[Raw]:
    """Text cut into sentences, each with the white space after it."""
    if raw.formula_id:
        yield raw
        return
    at = 0
    for match in _SENTENCE.finditer(raw.text):
        if match.end() > at:
            yield Raw(raw.text[at : match.end()].replace("\n", " "))
        at = match.end()
    if at < len(raw.text):
        yield Raw(raw.text[at:])


def _size(piece: Raw, formula: float) -> float:
    """Room that a piece takes: LaTeX by a factor, with its two dollar signs."""
    return len(piece.text) * formula + 2 if piece.formula_id else len(piece.text)


@lru_cache(SENTENCES)
def word_codes(text: str) -> frozenset[int]:
    """The codes of the words of a text."""
    return frozenset([word_code(word) for word in WORD.findall(text)])


@lru_cache(WORDS)
def word_code(word: str) -> int:
    """The code of a word's stem (-1: it has none)."""
    return next((code(stem) for stem in stems(word)), -1)


def plain_title(html: str) -> tuple[Segment, ...]:
    """A title with nothing lit."""
    return tuple(
        Segment("formula", raw.text, mathml_of(raw.text), raw.formula_id)
        if raw.formula_id
        else Segment("text", raw.text)
        for raw in segments(html)
    )
