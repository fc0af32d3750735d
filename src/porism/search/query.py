"""Reading queries: title and body become text with marks, and parsed formulas (`porism.search.reading` finds them).

Any string is a legal query. A formula that cannot be parsed is searched by its symbols, and `notes` say so."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Literal

from cachetools import LRUCache

from porism.analysis.features import Features, features_of_many
from porism.deadline import check
from porism.formula import Parsed, parse, parse_mathml
from porism.formula.match.backtracking import is_wildcard
from porism.records import Topic, TopicFormula
from porism.text.markup import math_span
from porism.text.typed.box import QueryPart, is_verbatim, split_query
from porism.text.words import FORMULA

Kind = Literal["answers", "questions"]  # what a query searches
KINDS: tuple[Kind, ...] = ("answers", "questions")
Sort = Literal["relevance", "votes", "date"]
SORTS: tuple[Sort, ...] = ("relevance", "votes", "date")
Field = Literal["title", "body"]
_LONE_DOLLAR = re.compile(r"(?<!\\)\$")
MAX_FORMULAS = 40  # of one query; in a post with more they are mostly repetitions
QUERIES_KEPT = 128  # parsed queries that are kept: page 2 and explanations parse nothing again


@dataclass(frozen=True, slots=True)
class QueryFormula:
    """A formula of a query, the field in which it occurs first, and other readings of what was typed."""

    parsed: Parsed
    field: Field = "title"
    others: tuple[Parsed, ...] = ()

    @property
    def has_wildcards(self) -> bool:
        """Whether the formula contains a wildcard."""
        return has_wildcards(self.parsed)


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """A query after parsing: title and body with a mark for each formula, the distinct formulas, tags, and notes.

    With `expand`, the names and formulas that usually come together complete each other.
    Queries compare by value, so that caches recognise a query that is repeated."""

    title: str
    body: str
    tags: tuple[str, ...]
    formulas: tuple[QueryFormula, ...]
    notes: tuple[str, ...] = ()
    # As named systems read it: HTML, official MathML.
    topic: Topic | None = field(default=None, compare=False, repr=False)
    expand: bool = True

    @property
    def empty(self) -> bool:
        """Whether the query has no words, no formulas and no tags."""
        return not (self.formulas or self.title.replace(FORMULA, "").strip() or self.body.strip() or self.tags)


@lru_cache(QUERIES_KEPT)
def read_query(text: str, body: str = "", tags: tuple[str, ...] = (), *, typed: bool = True) -> ReadQuery:
    """Parse a typed line, or a post. Without `typed`, only what is between delimiters is a formula."""
    formulas: dict[str, QueryFormula] = {}
    notes: list[str] = []
    fields: dict[Field, str] = {"title": text, "body": body}
    written: dict[Field, list[str]] = {"title": [], "body": []}
    texts = {
        name: _read_field(name, split_query(content, typed=typed), formulas, notes, written[name])
        for name, content in fields.items()
    }
    kept = tuple(formulas.values())[:MAX_FORMULAS]
    if len(formulas) > MAX_FORMULAS:
        notes.append(f"only the first {MAX_FORMULAS} of {len(formulas)} formulas are searched")
    in_topic = tuple(
        TopicFormula("", one.parsed.latex, "title" if one.field == "title" else "question", mathml)
        for source, one in formulas.items()
        for mathml in [source if source.startswith("<math") else ""]  # MathML that was typed is kept
    )
    topic = Topic("", "".join(written["title"]), "".join(written["body"]), tags, in_topic)
    return ReadQuery(texts["title"], texts["body"], tags, kept, tuple(dict.fromkeys(notes)), topic)


def has_wildcards(formula: Parsed) -> bool:
    """Return whether a formula contains a wildcard."""
    return any(is_wildcard(node.label) for node in formula.operators.walk())


def parse_part(part: QueryPart) -> Parsed:
    """Parse a formula of a query, LaTeX with wildcards or MathML."""
    return parse_mathml(part.source) if part.mathml else parse(part.latex, wildcards=True)


def _read_field(
    name: Field, parts: Iterator[QueryPart], formulas: dict[str, QueryFormula], notes: list[str], written: list[str]
) -> str:
    """Return the text of a field with marks; add its formulas, notes on them, and (to `written`) the field as HTML."""
    text: list[str] = []
    for part in parts:
        if part.kind == "text":
            text.append(part.source)
            written.append(html.escape(part.source, quote=False))
            if _LONE_DOLLAR.search(part.source):
                notes.append("a $ has no closing $, so the text after it is not read as a formula")
            continue
        text.append(f" {FORMULA} {part.words} " if part.words else f" {FORMULA} ")
        key = part.latex or part.source
        if key and key not in formulas:
            formula = parse_part(part)
            check()
            others = tuple(parse(latex, wildcards=True) for latex in part.others)
            check()
            formulas[key] = QueryFormula(formula, name, others)
            notes.extend(_notes(part, formula))
        if key:
            written.append(math_span(formulas[key].parsed.latex, ""))
    return "".join(text)


def _notes(part: QueryPart, formula: Parsed) -> Iterator[str]:
    if part.typed:
        reading = "a formula" if is_verbatim(part.source, part.latex) else f"the formula ${part.latex}$"
        yield f"{part.source} is read as {reading}"
    if formula.path == "opaque":
        yield f"{part.source[:80]} cannot be read as a formula, so only its symbols are searched"
    for problem in formula.problems[:1]:
        yield f"{part.source[:80]}: {problem.message}"


FORMULAS_KEPT = 1024

_kept: LRUCache[Parsed, Features] = LRUCache(FORMULAS_KEPT)
_lock = Lock()


def query_features(formulas: Sequence[Parsed]) -> list[Features]:
    """Return the features of formulas; those that are not known yet are computed together."""
    with _lock:
        found = {formula: known for formula in formulas if (known := _kept.get(formula)) is not None}
    missing = [formula for formula in dict.fromkeys(formulas) if formula not in found]
    if missing:
        computed = features_of_many([(one.layout, one.operators) for one in missing])
        with _lock:
            _kept.update(zip(missing, computed, strict=True))
        found.update(zip(missing, computed, strict=True))
    return [found[formula] for formula in formulas]
