"""What Approach0 reads of a topic or a post: keywords and formulas of a query, and the input of its models."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from porism.records import Topic
from porism.search.query import ReadQuery
from porism.systems.approach0.lexer import UnreadableFormula, tokenize
from porism.systems.approach0.text_index import Analyser
from porism.systems.topic_queries import HandQueries, query_formula, topic_of, topic_text
from porism.text.render import plain_text
from porism.text.segment import Segment, Text
from porism.text.words import FORMULA

SHORTEST_FORMULA = 2  # characters of a formula of an automatic query: single symbols are in most posts


class FormulaTextQuery(NamedTuple):
    """The words and the formulas (LaTeX) of a query."""

    words: tuple[str, ...]
    formulas: tuple[str, ...]


def formulas_of(query: ReadQuery, queries: HandQueries | None) -> tuple[str, ...]:
    """Return the formulas of a query of Task 2."""
    topic = topic_of(query)
    if queries is not None and topic.id:
        return queries.of(topic.id).formulas
    formula = query_formula(query)
    return () if formula is None else (formula.latex,)


def text_query(query: ReadQuery, queries: HandQueries | None, analyser: Analyser) -> FormulaTextQuery:
    """Return words and formulas of a query of Task 1: those of the file, or the words of the title and the formulas of
    the whole post."""
    topic = topic_of(query)
    if queries is not None and topic.id:
        hand = queries.of(topic.id)
        return FormulaTextQuery(tuple(word for phrase in hand.phrases for word in analyser(phrase)), hand.formulas)
    if query.topic is None:
        words = analyser(f"{query.title} {query.body}".replace(FORMULA, " "))
        return FormulaTextQuery(tuple(words), tuple(one.parsed.latex for one in query.formulas))
    title, question = topic_text(topic, "title"), topic_text(topic, "question")
    return FormulaTextQuery(tuple(analyser(_words(title))), _formulas(title, question))


def _words(text: Text) -> str:
    return " ".join(segment.text for segment in text.segments if segment.kind == "text")


def _formulas(*texts: Text) -> tuple[str, ...]:
    found = (segment.text.strip() for text in texts for segment in text.formulas)
    return tuple(dict.fromkeys(latex for latex in found if len(latex) >= SHORTEST_FORMULA))


Marks = Literal["dollars", "none"]
Numbers = Literal["somenum", "digits"]
MASK = "[MASK]"
_SPACE = re.compile(r"\s+")
# Tokens without a symbol of their own; braces that only group are left out.
_FENCES = {"open": "lparen", "close": "rparen", "open square": "lbrack", "close square": "rbrack"}
_WITHOUT = ("open brace", "close brace")


@lru_cache(100_000)
def symbols(latex: str, numbers: Numbers = "somenum") -> tuple[str, ...]:
    """Return the symbols of a formula without their fonts; an integer of several digits is `somenum`, or its digits. Of
    a formula that the lexer does not read, nothing.

    >>> symbols(r"\\\\mathbb{R}^2 = \\\\frac{x}{12}")
    ('R', 'supscript', '2', 'equal', 'frac', 'x', 'somenum')
    """
    try:
        tokens = tokenize(html.unescape(latex))
    except UnreadableFormula:
        return ()
    found: list[str] = []
    for token in tokens:
        symbol = token.symbol.rpartition(":")[2] or _FENCES.get(token.role, "")
        if token.role in _WITHOUT or not symbol:
            continue
        if symbol == "bignum" or (symbol.isdecimal() and len(symbol) > 1):
            found += ["somenum"] if numbers == "somenum" or symbol == "bignum" else list(symbol)
        else:
            found.append(symbol)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class SymbolFormat:
    """How formulas are written for a model."""

    marks: Marks = "dollars"
    numbers: Numbers = "somenum"

    def formula(self, latex: str) -> str:
        """Return a formula as text."""
        sign = "$" if self.marks == "dollars" else ""
        return " ".join(f"{sign}{symbol}{sign}" for symbol in symbols(latex, self.numbers))

    def text(self, text: Text) -> str:
        """Return a text with its formulas."""
        return _written(text, lambda segment: self.formula(segment.text))

    def topic(self, topic: Topic) -> str:
        """Return title and body of a topic, each on a line."""
        fields = [self.text(topic_text(topic, "title")), self.text(topic_text(topic, "question"))]
        return "\n".join(field for field in fields if field)

    def masked(self, text: Text, formula_id: int) -> str:
        """Return a text with one formula; every other one is a mask."""
        return _written(text, lambda segment: self.formula(segment.text) if segment.formula_id == formula_id else MASK)


def _written(text: Text, formula: Callable[[Segment], str]) -> str:
    return _SPACE.sub(" ", plain_text(text, lambda segment: f" {formula(segment)} ")).strip()
