"""Snippets: the passage of a post that matches the query best, with highlights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import chain

from porism.deadline import check
from porism.formula import Parsed
from porism.search.display.highlight import Highlighter
from porism.search.display.post_formulas import mathml_of, parsed_formula
from porism.search.display.results import HighlightedSegment
from porism.search.display.sentences import (
    FORMULA_MARKS,
    best_window,
    expression_ids,
    joined_segments,
    segment_width,
    split_pieces,
    whole_sentences,
    with_unmarked,
)
from porism.search.display.shared_parts import SharedParts
from porism.search.retrieval.query_terms import QueryTerms
from porism.text.render import prose
from porism.text.segment import Segment, Text
from porism.text.words import WORD, stem

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
        """Return the weight of the query terms in tokens, each counted once."""
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
        first, last = self._best_window(pieces)
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
        return len(self._parts.contained(set().union(*map(expression_ids, texts))))

    def _best_window(self, pieces: Sequence[str]) -> tuple[int, int]:
        """Return start and end of the pieces with the largest weight that fit into a snippet."""
        weight = self._parts.weight
        weights = self._words.weights("" if piece[0] in FORMULA_MARKS else piece for piece in pieces)
        widths: list[float] = list(map(len, pieces))
        for at, piece in enumerate(pieces):
            if piece[0] in FORMULA_MARKS:
                _, expression, latex = piece.split(" ", 2)
                weights[at] = weight(int(expression))
                widths[at] = len(latex) * FORMULA_WIDTH + 2
        return best_window(weights, widths, SNIPPET_LENGTH)

    def _weight(self, segment: Segment) -> float:
        """Return the weight of the query terms in a text or formula."""
        check()
        is_formula = segment.kind == "formula"
        return self._parts.weight(segment.expression_id) if is_formula else self._words.weights([segment.text])[0]

    def _highlighted(self, segments: Iterable[Segment]) -> tuple[HighlightedSegment, ...]:
        segments = list(segments)
        compared = self._most_shared(segments)
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

    def _most_shared(self, segments: Iterable[Segment]) -> set[int]:
        """Return the expressions that share the most with the query."""
        weight = self._parts.weight
        found = dict.fromkeys(segment.expression_id for segment in segments if segment.kind == "formula")
        shared = [expression for expression in found if weight(expression) > 0]
        return set(shared if len(shared) <= MAX_HIGHLIGHTED else nlargest(MAX_HIGHLIGHTED, shared, weight))


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
