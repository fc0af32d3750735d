"""A query as encoders read it: title and body with formulas as LaTeX, in the form of the questions of the index."""

from __future__ import annotations

from porism.analysis.pieces import model_text, question_text
from porism.search.query import ReadQuery
from porism.text.read import read_official


def encoder_text(query: ReadQuery) -> str:
    """Return the text of a query for an encoder; empty if the query has none."""
    topic = query.topic
    return question_text(read_official(topic.title), read_official(topic.question)) if topic else ""


def encoder_texts(query: ReadQuery) -> tuple[str, ...]:
    """Return the texts whose vectors make up that of a query: the whole query, and its title by itself.

    A query without a body has one text, a query without text none.
    """
    whole = encoder_text(query)
    title = model_text(read_official(query.topic.title)) if query.topic else ""
    return tuple(dict.fromkeys(text for text in (whole, title) if text))
