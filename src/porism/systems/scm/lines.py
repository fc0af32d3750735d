"""Lines of text that SCM reads: the paragraphs of posts as words, as words with LaTeX, and each formula as Tangent-L tuples."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from porism.corpus.content import Content
from porism.records import Topic
from porism.systems.lexical.documents import batched
from porism.systems.mathdowers.documents import FormulaTokens
from porism.systems.mathdowers.queries import placed_formulas
from porism.systems.mathdowers.tuples import TANGENT_L_2021, math_tokens
from porism.systems.queries.topic_query import topic_text
from porism.text.segment import Segment, Text

Representation = Literal["text", "text+latex", "tangentl"]
OPEN, CLOSE = "[MATH]", "[/MATH]"
# Paragraphs with fewer characters are not used for training; formulas of any length are.
SHORTEST: dict[str, int] = {"text": 100, "text+latex": 250, "tangentl": 0}
_PARAGRAPH = re.compile(r"<(/?)p[\s>]")
_SPACE = re.compile(r"\s+")


class Line(NamedTuple):
    """A line: pieces of text and LaTeX in order (`is_math` says which), or tokens that need no tokenizer."""

    pieces: tuple[Piece, ...]

    @property
    def characters(self) -> int:
        """The number of characters with the marks around formulas."""
        return sum(len(piece.text) + (len(OPEN) + len(CLOSE) + 2 if piece.is_math else 0) for piece in self.pieces)


class Piece(NamedTuple):
    """A piece of a line."""

    text: str
    is_math: bool


def paragraphs(text: Text, whole: bool = False) -> Iterator[list[Segment]]:
    """Yield the segments of each paragraph; text outside of paragraphs is left out, unless `whole` (a title is one paragraph)."""
    inside: list[Segment] | None = [] if whole else None
    for segment in text.segments:
        edge = _PARAGRAPH.match(segment.text) if segment.kind == "tag" and not whole else None
        if edge is not None:
            if inside:
                yield inside
            inside = None if edge[1] else []
        elif inside is not None:
            inside.append(segment)
    if inside:
        yield inside


def line_of(segments: list[Segment], with_latex: bool) -> Line:
    """Return a paragraph as a line; without LaTeX a formula is a blank. Neighbouring formulas become one piece."""
    pieces: list[Piece] = []
    for is_math, group in groupby(
        (one for one in segments if one.kind != "tag"), lambda one: with_latex and one.is_formula
    ):
        joined = (" " if is_math else "").join(" " if one.is_formula and not is_math else one.text for one in group)
        text = _SPACE.sub(" ", joined).strip()
        if text and is_math and pieces and pieces[-1].is_math:  # nothing but a blank was between
            pieces[-1] = Piece(f"{pieces[-1].text} {text}", True)
        elif text:
            pieces.append(Piece(text, is_math))
    return Line(tuple(pieces))


class PostLines:
    """Lines of the posts of a collection and of topics in one representation."""

    def __init__(self, content: Content, representation: Representation) -> None:
        self._content = content
        self._representation = representation
        self._tuples = FormulaTokens(content, TANGENT_L_2021) if representation == "tangentl" else None

    def of_texts(self, texts: Sequence[Text], whole: bool = False) -> Iterator[list[Line]]:
        """Yield the lines of each of some fields of the collection, which are read together."""
        if self._tuples is None:
            for text in texts:
                yield [line_of(one, self._representation == "text+latex") for one in paragraphs(text, whole)]
            return
        tokens = self._tuples.of_texts(texts)
        for text in texts:
            formulas = (one for segments in paragraphs(text, whole) for one in segments if one.is_formula)
            yield [_tuple_line(tokens[one.expression_id]) for one in formulas]

    def of_topic(self, topic: Topic, field: Literal["title", "question"]) -> Iterator[Line]:
        """Yield the lines of a field of a topic; a question without paragraphs is one."""
        text = topic_text(topic, field)
        if self._tuples is not None:
            for formula in placed_formulas(topic, field):
                yield _tuple_line(math_tokens(formula.mathml, TANGENT_L_2021))
            return
        whole = field == "title" or not any(paragraphs(text))
        for segments in paragraphs(text, whole):
            yield line_of(segments, self._representation == "text+latex")

    def training(self) -> Iterator[Line]:
        """Yield the lines of all bodies that are long enough for training; if none is, all lines."""
        found = False
        for line in self._bodies():
            if line.characters >= SHORTEST[self._representation]:
                found = True
                yield line
        if not found:
            yield from self._bodies()

    def _bodies(self) -> Iterator[Line]:
        for posts in batched(self._content.posts()):
            for lines in self.of_texts([post.body for post in posts]):
                yield from (line for line in lines if line.pieces)


def _tuple_line(tokens: list[str]) -> Line:
    return Line(tuple(Piece(token.strip("#"), True) for token in tokens if token[:1] == "#"))
