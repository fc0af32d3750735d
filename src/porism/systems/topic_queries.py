"""A topic as a query with the official MathML of its formulas, and queries that people wrote by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from porism.errors import PorismError
from porism.files import lines_of, open_text, report_unreadable
from porism.formula import parse
from porism.formula.mathml.content_writer import to_content
from porism.records import Topic, TopicFormula
from porism.search.formulas.searcher import formula_query
from porism.search.query import ReadQuery, read_query
from porism.text.markup import math_span
from porism.text.read import read_official
from porism.text.segment import Text, plain_text

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
    return plain_text(topic_text(topic, field), lambda segment: f" {segment.text} ")


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


HEADER = "qid"


@dataclass(frozen=True, slots=True)
class HandQuery:
    """What a person wrote for a topic: phrases, LaTeX, and, for dense models, the text around the formula."""

    topic: str
    phrases: tuple[str, ...] = ()
    formulas: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    context: str = ""


@dataclass(frozen=True, slots=True)
class HandQueries:
    """The queries of a file, by topic."""

    path: str
    queries: Mapping[str, HandQuery]

    def of(self, topic: str) -> HandQuery:
        """Return the query of a topic."""
        if topic not in self.queries:
            raise PorismError(f"has no query for topic {topic}", where=self.path, fix="add it, or leave --queries out")
        return self.queries[topic]


@report_unreadable("write a line for each topic: topic<TAB>formula")
def read_hand_queries(path: str | Path) -> HandQueries:
    """Read hand-written queries: a JSON list, a table `qid term tex ...`, or a table `topic, formula, ...`."""
    with open_text(path) as stream:
        text = stream.read()
    found = _from_json(text, str(path)) if text.lstrip().startswith("[") else _from_table(text, str(path))
    queries: dict[str, HandQuery] = {}
    for query in found:
        if query.topic in queries:
            raise PorismError(f"topic {query.topic} appears twice", where=str(path), fix="keep one of them")
        queries[query.topic] = query
    if not queries:
        fix = "write a line for each topic: topic<TAB>formula"
        raise PorismError("no query in this file", where=str(path), fix=fix)
    return HandQueries(str(path), queries)


def _from_json(text: str, where: str) -> Iterator[HandQuery]:
    try:
        for entry in json.loads(text):
            keywords = entry.get("kw", [])
            yield HandQuery(
                entry["qid"],
                tuple(one["str"] for one in keywords if one["type"] == "term"),
                tuple(one["str"] for one in keywords if one["type"] == "tex"),
                tuple(tag.strip() for tag in str(entry.get("tags", "")).split(",") if tag.strip()),
                entry.get("context", ""),
            )
    except (ValueError, TypeError, KeyError) as error:
        fix = 'write [{"qid": "A.1", "kw": [{"type": "term", "str": "prime"}, {"type": "tex", "str": "p^2"}]}]'
        raise PorismError(f"not a list of queries: {error}", where=where, fix=fix) from None


def _from_table(text: str, where: str) -> Iterator[HandQuery]:
    """Yield the queries of a table: with the header `qid` the second column holds phrases, else all are formulas."""
    lines = lines_of(text)
    has_phrases = bool(lines) and lines[0].split("\t")[0].strip() == HEADER
    for number, line in enumerate(lines, 1):
        cells = [cell.strip() for cell in line.split("\t")]
        if not cells[0] or (number == 1 and has_phrases):
            continue
        if len(cells) < 2:
            raise PorismError("no tab after the topic", where=f"{where}:{number}", fix="write: topic<TAB>formula")
        phrases = tuple(phrase.strip() for phrase in cells[1].split(",") if phrase.strip()) if has_phrases else ()
        formulas = tuple(cell for cell in cells[2 if has_phrases else 1 :] if cell)
        yield HandQuery(cells[0], phrases, formulas)
