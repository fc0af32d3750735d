"""Snippets: posts split into sentences and formulas, and the passage that matches a query best, with highlights.

A source may leave formulas as text: environments without dollar signs, and formulas between dollar signs that no reader
found. The lab's files mark formulas by spans, but cut an environment with a formula inside its text in pieces. For
display they are joined; the collection keeps the text as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import chain

from porism.deadline import check
from porism.formula import Parsed
from porism.search.display.highlight import Highlighter
from porism.search.display.post_formulas import SharedParts, mathml_of, parsed_formula
from porism.search.display.results import HighlightedSegment
from porism.search.retrieval.query_terms import QueryTerms
from porism.text.markup import ENVIRONMENTS
from porism.text.segment import (
    BLOCK,
    DISPLAY,
    FORMULA,
    INLINE,
    TAG,
    WORDS,
    Segment,
    Text,
    expression_ids,
    prose,
    stored_formula,
)
from porism.text.words import WORD, stem

MAX_POSTS = 1_000  # that are kept as pieces for the next query
FORMULA_MARKS = (INLINE, DISPLAY)
_FULL_STOP = re.compile(r"(?<!i\.e)(?<!e\.g)(?<!s\.t)(?<!w\.r\.t)(?<!\bcf)[.?!]\s+(?=[A-Z(]|\Z)|\n\s*\n")
_CONTENT = "[^\x1c-\x1f]*+"
_BLOCK_TAG = re.compile(f"{TAG}{BLOCK.pattern}{_CONTENT}", BLOCK.flags)
_OTHER_TAG = re.compile(f"{TAG}{_CONTENT}")
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
    if not any(mark in stored for mark in _MARKS):
        return text
    outside = FORMULA.sub("", stored)
    return Text.of(_joined(text.segments)) if any(mark in outside for mark in _MARKS) else text


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


SNIPPET_LENGTH = 320  # characters
MAX_HIGHLIGHTED = 3  # distinct formulas of a snippet that are compared with the query symbol by symbol
FORMULA_WIDTH = 0.5  # a character of LaTeX takes less space than one of text
TOKENS_KEPT = 50_000  # tokens of texts whose stems are kept for the next query
ELLIPSIS = " …"


@lru_cache(TOKENS_KEPT)
def token_stems(token: str) -> frozenset[str]:
    """Return the stems of the words in a token, a piece of text without white space such as `(non-trivial),`."""
    if token.isalnum():  # most tokens are one word
        return frozenset((stem(token),))
    return frozenset(map(stem, WORD.findall(token)))


class MatchingWords:
    """The words of a query in texts, which match by their stems. Each distinct token is looked up once."""

    def __init__(self, words: QueryTerms) -> None:
        self._weights: dict[str, float] = dict(zip(words.texts, words.scores.tolist(), strict=True))
        self._seen: set[str] = set()
        self._matching: set[str] = set()

    def tokens(self, text: str) -> set[str]:
        """Return the tokens of a text that contain words of the query."""
        tokens = text.split()
        if not self._seen.issuperset(tokens):
            self._look_up(tokens)
        return self._matching.intersection(tokens)

    def _look_up(self, tokens: Iterable[str]) -> None:
        new = set(tokens) - self._seen
        if new:
            terms = self._weights.keys()
            self._matching.update([token for token in new if not terms.isdisjoint(token_stems(token))])
            self._seen.update(new)  # last: another thread that finds a token here finds its match, too

    def weights(self, texts: Iterable[str]) -> list[float]:
        """Return the weight of the query terms in each text. A term counts once in a text."""
        split = [text.split() for text in texts]
        self._look_up(chain.from_iterable(split))
        matching = self._matching
        return [self._weight(found) if (found := matching.intersection(tokens)) else 0.0 for tokens in split]

    def _weight(self, tokens: Iterable[str]) -> float:
        stems = set().union(*map(token_stems, tokens))
        return sum([self._weights[term] for term in stems if term in self._weights])

    def split(self, text: str) -> list[HighlightedSegment]:
        """Split a text at the words that match."""
        found: list[HighlightedSegment] = []
        at = 0
        for match in WORD.finditer(text) if self.tokens(text) else ():
            if stem(match[0]) in self._weights:
                if match.start() > at:
                    found.append(HighlightedSegment("text", text[at : match.start()]))
                found.append(HighlightedSegment("text", match[0], "", None, True))
                at = match.end()
        if at < len(text):
            found.append(HighlightedSegment("text", text[at:]))
        return found


class QueryMatches:
    """What texts share with a query: its words, and the sub-expressions of its formulas. All pages of the query use the
    same object, so that nothing is looked up twice. Safe for concurrent use."""

    def __init__(self, terms: Mapping[str, QueryTerms], formulas: Sequence[Parsed]) -> None:
        self.words = MatchingWords(terms["words"])
        self.parts = SharedParts(terms["parts"], formulas)


class SnippetBuilder:
    """Builds titles, snippets and passages for one query."""

    def __init__(self, matches: QueryMatches, highlighter: Highlighter) -> None:
        self._words = matches.words
        self._parts = matches.parts
        self._highlighter = highlighter
        self._titles: dict[Text, tuple[HighlightedSegment, ...]] = {}

    def title(self, text: Text) -> tuple[HighlightedSegment, ...]:
        """Return the whole title with highlights. The answers of a thread share one title."""
        found = self._titles.get(text)
        if found is None:
            found = self._titles[text] = self._highlighted(prose(with_unmarked(text)))
        return found

    def snippet(self, text: Text) -> tuple[HighlightedSegment, ...]:
        """Return the best few sentences of a body, with an ellipsis where something is left out."""
        pieces = split_pieces(text)
        weights = self._words.weights("" if piece[0] in FORMULA_MARKS else piece for piece in pieces)
        widths: list[float] = list(map(len, pieces))
        for at, piece in enumerate(pieces):
            if piece[0] in FORMULA_MARKS:
                _, expression, latex = piece.split(" ", 2)
                weights[at] = self._parts.weight(int(expression))
                widths[at] = len(latex) * FORMULA_WIDTH + 2
        first, last = best_window(weights, widths, SNIPPET_LENGTH)
        shown = list(self._highlighted(joined_segments(pieces[first:last])))
        if first > 0:
            shown.insert(0, HighlightedSegment("text", "… "))
        if last < len(pieces):
            shown.append(HighlightedSegment("text", ELLIPSIS))
        return tuple(shown)

    def passage(self, text: Text, limit: int) -> tuple[HighlightedSegment, ...]:
        """Return the best whole sentences of a body of at most `limit` characters, dollar signs included.

        It has whole sentences and formulas; a longer sentence ends before the piece that does not fit."""
        sentences = whole_sentences(text)
        weights = [sum(map(self._weight, sentence)) for sentence in sentences]
        widths = [sum(map(segment_width, sentence)) for sentence in sentences]
        first, last = best_window(weights, widths, limit)
        kept = [piece for sentence in sentences[first:last] for piece in sentence]
        return self._highlighted(_within(kept, limit))

    def words(self, text: str) -> tuple[HighlightedSegment, ...]:
        """Return a piece of text split at the words of the query."""
        return tuple(self._words.split(text))

    def formula_nodes(self, formula: Segment) -> tuple[int, ...]:
        """Return the MathML elements of a formula of a post that match the query."""
        shared = self._parts.of(formula.expression_id)
        return self._highlighter.best_nodes(formula, {part.formula for part in shared}) if shared else ()

    def contained(self, *texts: Text) -> int:
        """Return how many query formulas these texts contain as a whole, perhaps with other variables."""
        return len(self._parts.contained({number for text in texts for number in expression_ids(text.stored)}))

    def _weight(self, segment: Segment) -> float:
        """Return the weight of the query terms in a text or formula."""
        check()
        is_formula = segment.kind == "formula"
        return self._parts.weight(segment.expression_id) if is_formula else self._words.weights([segment.text])[0]

    def _highlighted(self, segments: Iterable[Segment]) -> tuple[HighlightedSegment, ...]:
        segments, weight = list(segments), self._parts.weight
        found = dict.fromkeys(segment.expression_id for segment in segments if segment.kind == "formula")
        shared = [expression for expression in found if weight(expression) > 0]
        compared = shared if len(shared) <= MAX_HIGHLIGHTED else nlargest(MAX_HIGHLIGHTED, shared, weight)
        shown: list[HighlightedSegment] = []
        for segment in segments:
            check()
            if segment.kind != "formula":
                shown.extend(self._words.split(segment.text))
                continue
            nodes: tuple[int, ...] = ()
            if segment.expression_id in compared:
                nodes = self.formula_nodes(segment)
                mathml = parsed_formula(segment.text).parsed.mathml
            else:
                mathml = mathml_of(segment.text)
            shown.append(HighlightedSegment("formula", segment.text, mathml, segment.formula_id, bool(nodes), nodes))
        return tuple(shown)


def _within(pieces: Sequence[Segment], limit: int) -> list[Segment]:
    """Return the first pieces that fit; of a text that does not, its first words."""
    kept: list[Segment] = []
    room = limit
    for piece in pieces:
        width = segment_width(piece)
        if width > room:
            if piece.kind == "text" and room > len(ELLIPSIS):
                kept.append(Segment("text", piece.text[: room - len(ELLIPSIS)].rsplit(" ", 1)[0] + ELLIPSIS))
            break
        kept.append(piece)
        room -= width
    return kept


def plain_title(text: Text) -> tuple[HighlightedSegment, ...]:
    """Return a title without highlights."""
    return tuple(
        HighlightedSegment("formula", segment.text, mathml_of(segment.text), segment.formula_id)
        if segment.is_formula
        else HighlightedSegment("text", segment.text)
        for segment in prose(with_unmarked(text))
    )
