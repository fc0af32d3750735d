"""Snippets: the passage of a post that matches the query best, with matching words and parts of formulas highlighted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from porism.index.analysis.words import WORD, stem
from porism.search.answers.terms import QueryTerms
from porism.search.display.highlight import NO_HIGHLIGHT, Highlighter
from porism.search.display.parsed_formulas import mathml_of
from porism.search.display.results import HighlightedSegment
from porism.search.display.unmarked import with_unmarked
from porism.text.render import prose
from porism.text.segment import Segment, Text

SNIPPET_LENGTH = 320  # characters
MAX_HIGHLIGHTED = 4  # formulas of a snippet that are compared with the query symbol by symbol
FORMULA_WIDTH = 0.5  # a character of LaTeX takes less space than one of text
MAX_POSTS = 1_000  # that are kept as sentences for the next query
ELLIPSIS = " …"
_FULL_STOP = re.compile(r"(?<!i\.e)(?<!e\.g)(?<!s\.t)(?<!w\.r\.t)(?<!\bcf)[.?!]\s+(?=[A-Z(]|\Z)|\n\s*\n")
_SENTENCE_END = re.compile(r"[.?!:;]\s+|\n+")


class SnippetBuilder:
    """Builds titles, snippets and passages for one query."""

    def __init__(self, terms: Mapping[str, QueryTerms], highlighter: Highlighter) -> None:
        words, parts = terms["words"], terms["parts"]
        self._words: dict[str, float] = dict(zip(words.texts, words.scores.tolist(), strict=True))
        self._stems = frozenset(self._words)
        self._parts = highlighter.shared_parts(parts)
        self._highlighter = highlighter

    def title(self, text: Text) -> tuple[HighlightedSegment, ...]:
        """Return the whole title with highlights."""
        return self._highlighted(prose(with_unmarked(text)))

    def snippet(self, text: Text) -> tuple[HighlightedSegment, ...]:
        """Return the best few sentences of a body, with an ellipsis where something is left out."""
        sentences = split_sentences(text)
        first, last = self._best_window(sentences, SNIPPET_LENGTH, FORMULA_WIDTH)
        shown = list(self._highlighted(sentences[first:last]))
        if first > 0:
            shown.insert(0, HighlightedSegment("text", "… "))
        if last < len(sentences):
            shown.append(HighlightedSegment("text", " …"))
        return tuple(shown)

    def passage(self, text: Text, limit: int) -> tuple[HighlightedSegment, ...]:
        """Return the best whole sentences of a body of at most `limit` characters, dollar signs included.

        It starts at a sentence and has complete formulas; a sentence longer than the limit ends before the piece that does not fit.
        """
        sentences = whole_sentences(text)
        weights = [sum(map(self._weight, sentence)) for sentence in sentences]
        widths = [sum(_width(piece, 1.0) for piece in sentence) for sentence in sentences]
        first, last = best_window(weights, widths, limit)
        kept = [piece for sentence in sentences[first:last] for piece in sentence]
        return self._highlighted(_within(kept, limit))

    def words(self, text: str) -> tuple[HighlightedSegment, ...]:
        """Return a piece of text split at the words of the query."""
        return tuple(self._highlight_words(text))

    def formula_nodes(self, formula: Segment) -> tuple[int, ...]:
        """Return the MathML elements of a formula of a post that match the query."""
        shared = self._parts.of(formula.expression_id) if formula.expression_id else ()
        if not shared:
            return ()
        return self._highlighter.best_match(formula.text, {part.formula for part in shared}).item_nodes

    def contained(self, *texts: Text) -> int:
        """Return how many formulas of the query these texts contain as a whole, perhaps with other names of variables."""
        found: set[int] = set()
        for expression in {formula.expression_id for text in texts for formula in text.formulas} - {0}:
            found.update(part.whole for part in self._parts.of(expression) if part.whole >= 0)
        return len(found)

    def _best_window(self, pieces: Sequence[Segment], limit: int, formula_width: float) -> tuple[int, int]:
        """Return start and end of the window of at most `limit` characters with the largest weight; the first one of equals."""
        weights = [self._weight(piece) for piece in pieces]
        return best_window(weights, [_width(piece, formula_width) for piece in pieces], limit)

    def _weight(self, piece: Segment) -> float:
        """Return the weight of the query terms in a sentence or formula."""
        if piece.kind == "formula":
            return sum([part.weight for part in self._parts.of(piece.expression_id)]) if piece.expression_id else 0.0
        found = self._stems.intersection(map(stem, WORD.findall(piece.text)))
        return sum([self._words[word] for word in found])

    def _highlighted(self, pieces: Iterable[Segment]) -> tuple[HighlightedSegment, ...]:
        shown: list[HighlightedSegment] = []
        compared = 0
        for piece in pieces:
            if piece.kind != "formula":
                shown.extend(self._highlight_words(piece.text))
                continue
            match = NO_HIGHLIGHT
            comparable = piece.expression_id and compared < MAX_HIGHLIGHTED
            shared = self._parts.of(piece.expression_id) if comparable else ()
            if shared:
                compared += 1
                match = self._highlighter.best_match(piece.text, {part.formula for part in shared})
            nodes = match.item_nodes
            mathml = mathml_of(piece.text)
            shown.append(HighlightedSegment("formula", piece.text, mathml, piece.formula_id, bool(nodes), nodes))
        return tuple(shown)

    def _highlight_words(self, text: str) -> Iterable[HighlightedSegment]:
        """Split a text at the words of the query."""
        at = 0
        for match in WORD.finditer(text):
            if stem(match[0]) in self._stems:
                if match.start() > at:
                    yield HighlightedSegment("text", text[at : match.start()])
                yield HighlightedSegment("text", match[0], highlighted=True)
                at = match.end()
        if at < len(text):
            yield HighlightedSegment("text", text[at:])


def best_window(weights: Sequence[float], widths: Sequence[float], limit: int) -> tuple[int, int]:
    """Return start and end of the window of at most this width with the largest weight; the first one of equals."""
    best, window = -1.0, (0, 0)
    last, width, total = 0, 0.0, 0.0
    for first in range(len(weights)):
        while last < len(weights) and (width + widths[last] <= limit or last == first):
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
    sentences: list[list[Segment]] = [[]]
    for segment in prose(with_unmarked(text)):
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


def _within(pieces: Sequence[Segment], limit: int) -> list[Segment]:
    """Return the first pieces that fit; of a text that does not, its first words."""
    kept: list[Segment] = []
    room = limit
    for piece in pieces:
        width = int(_width(piece, 1.0))
        if width > room:
            if piece.kind == "text" and room > len(ELLIPSIS):
                kept.append(Segment("text", piece.text[: room - len(ELLIPSIS)].rsplit(" ", 1)[0] + ELLIPSIS))
            break
        kept.append(piece)
        room -= width
    return kept


@lru_cache(MAX_POSTS)
def split_sentences(text: Text) -> tuple[Segment, ...]:
    """Split a post into sentences and formulas."""
    pieces: list[Segment] = []
    for segment in prose(with_unmarked(text)):
        if segment.kind == "formula":
            pieces.append(segment)
            continue
        words, at = segment.text, 0
        for match in _SENTENCE_END.finditer(words):  # a sentence keeps the white space after it
            pieces.append(Segment("text", words[at : match.end()].replace("\n", " ")))
            at = match.end()
        if at < len(words):
            pieces.append(Segment("text", words[at:]) if at else segment)
    return tuple(pieces)


def _width(piece: Segment, formula_width: float) -> float:
    """Return the space that a piece takes: LaTeX by a factor, with its two dollar signs."""
    return len(piece.text) * formula_width + 2 if piece.kind == "formula" else len(piece.text)


def plain_title(text: Text) -> tuple[HighlightedSegment, ...]:
    """Return a title without highlights."""
    return tuple(
        HighlightedSegment("formula", segment.text, mathml_of(segment.text), segment.formula_id)
        if segment.is_formula
        else HighlightedSegment("text", segment.text)
        for segment in prose(with_unmarked(text))
    )
