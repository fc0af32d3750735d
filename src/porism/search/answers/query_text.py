"""A query as encoders read it: title and body with formulas as LaTeX, in the form of the questions of the index."""

from __future__ import annotations

from porism.index.encoded.texts import question_text
from porism.search.query import ReadQuery
from porism.text.read import read_official


def encoder_text(query: ReadQuery) -> str:
    """Return the text of a query for an encoder; empty if the query has none."""
    topic = query.topic
    return question_text(read_official(topic.title), read_official(topic.question)) if topic else ""
