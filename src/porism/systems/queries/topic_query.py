"""What named systems read of a topic: its text with formulas in place, and its formulas with the official MathML.

Where no official MathML is given (`porism run --topic-formulas`), formulas are converted from LaTeX by `porism.formula`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Literal

from porism.formula import parse
from porism.formula.mathml.content_writer import to_content
from porism.records import Topic, TopicFormula
from porism.search.formulas.retriever import formula_query
from porism.search.query import ReadQuery, read_query
from porism.text.delimiters import math_span
from porism.text.read import read_official
from porism.text.render import plain_text
from porism.text.segment import Segment, Text

Field = Literal["title", "question"]


def topic_of(query: ReadQuery) -> Topic:
    """Return the topic of a query; a query that was typed becomes a topic without number."""
    if query.topic is not None:
        return query.topic
    spans = [math_span(one.parsed.latex, "") for one in query.formulas]
    formulas = tuple(TopicFormula("", one.parsed.latex, "title") for one in query.formulas)
    return Topic("", " ".join(spans), "", query.tags, formulas, latex=formulas[0].latex if formulas else "")


def topic_query(topic: Topic, task: int) -> ReadQuery:
    """Return the query of a topic, with the topic in it: the whole post in Task 1, the formula in Task 2."""
    read = formula_query(topic.latex) if task == 2 else read_query(topic.title, topic.question, topic.tags)
    return replace(read, topic=topic)


def topic_text(topic: Topic, field: Field) -> Text:
    """Return title or question as segments: text, tags, formulas with the numbers of their ids (12 for `q_12`)."""
    return read_official(topic.title if field == "title" else topic.question)


def plain_topic(topic: Topic, field: Field) -> str:
    """Return title or question as text without mark-up, each formula as its LaTeX between blanks."""
    return plain_text(topic_text(topic, field), _bare_latex)


def _bare_latex(segment: Segment) -> str:
    return f" {segment.text} "


def query_formula(query: ReadQuery) -> TopicFormula | None:
    """Return the formula that a query of Task 2 searches for, or the first formula of any other query."""
    topic = topic_of(query)
    named = next((one for one in topic.formulas if topic.formula_id and one.id == topic.formula_id), None)
    if named is not None:
        return named
    if topic.latex:
        return TopicFormula(topic.formula_id, topic.latex)
    return topic.formulas[0] if topic.formulas else None


def presentation(formula: TopicFormula) -> str:
    """Return the Presentation MathML of a topic formula: the official one, or our conversion of the LaTeX."""
    return formula.mathml or _converted(formula.latex)[0]


def content(formula: TopicFormula) -> str:
    """Return the Content MathML of a topic formula: the official one, or our conversion of the LaTeX."""
    return formula.content or _converted(formula.latex)[1]


@lru_cache(1000)
def _converted(latex: str) -> tuple[str, str]:
    parsed = parse(latex, wildcards=True)
    return parsed.mathml, to_content(parsed.operators)
