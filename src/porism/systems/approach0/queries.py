"""Queries of Approach Zero: words and formulas that a person wrote for a topic, or that are taken from the topic."""

from __future__ import annotations

from typing import NamedTuple

from porism.analysis.words import FORMULA
from porism.search.query import ReadQuery
from porism.systems.approach0.words import Analyser
from porism.systems.queries.hand_queries import HandQueries
from porism.systems.queries.topic_query import query_formula, topic_of, topic_text
from porism.text.segment import Text

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
    """Return words and formulas of a query of Task 1: those of the file, or the words of the title and the formulas of the whole post."""
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
