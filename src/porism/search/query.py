"""Queries: the arguments of the Python API, checked; and their text, read: title and body become text with marks, and
parsed formulas (`porism.search.reading` finds them).

Any string is a legal query. A formula that cannot be parsed is searched by its symbols, and `notes` say so. An error
about an argument names the method, the argument and an example: a wrong type is an `ArgumentTypeError`, an impossible
value an `ArgumentValueError`. Both are `PorismError`s; the first is also a `TypeError`, the second also a
`ValueError`. Each check returns the argument in the type that the engine uses."""

from __future__ import annotations

import html
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from threading import Lock
from typing import Any, Literal, TypedDict, TypeVar

from cachetools import LRUCache

from porism.analysis.features import Features, features_of_many
from porism.deadline import check
from porism.errors import ArgumentTypeError, ArgumentValueError
from porism.formula import Parsed, parse, parse_mathml
from porism.formula.match.backtracking import is_wildcard
from porism.records import Query, Topic, TopicFormula
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


Choice = TypeVar("Choice", bound=str)


class SearchOptions(TypedDict, total=False):
    """The options of `Engine.search`, given by name."""

    tags: tuple[str, ...]  # that a question has, all of them
    years: tuple[int, int] | None  # the first and the last
    accepted: bool  # only accepted answers
    offset: int  # hits before those that are returned
    sort: Sort  # the order of the most relevant hits: by relevance, votes or date
    group: bool  # the answers of a thread are one hit, its best answer
    expand: bool  # the formulas of names in the query, and the names of its formulas, are searched as well
    as_words: bool  # only formulas between delimiters are formulas
    verbatim: bool  # spelling and wording stay as they are


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A call of `Engine.search`, checked."""

    query: str | Query
    k: int
    kind: Kind
    tags: tuple[str, ...] = ()
    years: tuple[int, int] | None = None
    accepted: bool = False
    offset: int = 0
    sort: Sort = "relevance"
    group: bool = False
    expand: bool = True
    as_words: bool = False
    verbatim: bool = False


def check_query(query: object, method: str) -> str | Query:
    """Return a query: a string, or a `Query` with texts and tags."""
    if isinstance(query, str):
        return query
    fix = f'pass a string or a porism.records.Query: {method}("proof that $\\\\sqrt{{2}}$ is irrational")'
    if not isinstance(query, Query):
        raise _wrong_type(method, "query", "a string or a Query", query, fix)
    for name, text in (("query.title", query.title), ("query.text", query.text)):
        if not isinstance(text, str):
            raise _wrong_type(method, name, "a string", text, fix)
    return replace(query, tags=check_tags(query.tags, method, "query.tags"))


def check_text(text: object, method: str, name: str, example: str) -> str:
    """Return a string."""
    if not isinstance(text, str):
        raise _wrong_type(method, name, "a string", text, f"pass a string: {method}({example})")
    return text


def check_integer(value: object, method: str, name: str, *, least: int | None = None, example: int = 10) -> int:
    """Return an integer, also if it is one of numpy; `least` is the smallest value allowed."""
    fix = f"pass an integer, for example {name}={example}"
    if isinstance(value, bool):
        raise _wrong_type(method, name, "an integer", value, fix)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise _wrong_type(method, name, "an integer", value, fix) from None
    if least is not None and number < least:
        raise ArgumentValueError(f"{name} is {number}, but must be at least {least}", where=method, fix=fix)
    return number


def check_choice(value: object, method: str, name: str, choices: Sequence[Choice]) -> Choice:
    """Return one of several strings."""
    listed = ", ".join(f'"{choice}"' for choice in choices)
    if not isinstance(value, str):
        raise _wrong_type(method, name, "a string", value, f"pass one of {listed}")
    for choice in choices:
        if value == choice:
            return choice
    raise ArgumentValueError(f'{name} cannot be "{value}"', where=method, fix=f"pass one of {listed}")


def check_flag(value: object, method: str, name: str) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise _wrong_type(method, name, "True or False", value, f"pass {name}=True or {name}=False")
    return value


def check_tags(tags: object, method: str, name: str = "tags") -> tuple[str, ...]:
    """Return tags as a tuple. One string is refused, since its letters would be read as tags."""
    if isinstance(tags, str):
        raise _wrong_type(method, name, "several strings", tags, f'pass a tuple, also for one tag: {name}=("{tags}",)')
    fix = f'pass a tuple of strings, for example {name}=("calculus", "limits")'
    if not isinstance(tags, Iterable):
        raise _wrong_type(method, name, "several strings", tags, fix)
    found = tuple(tags)
    for tag in found:
        if not isinstance(tag, str):
            raise _wrong_type(method, f"a tag in {name}", "a string", tag, fix)
    return found


def check_years(years: object, method: str, name: str = "years") -> tuple[int, int] | None:
    """Return the first and the last year, or None for all years."""
    if years is None:
        return None
    fix = "pass the first and the last year, for example years=(2012, 2014)"
    if isinstance(years, str) or not isinstance(years, Sequence):
        raise _wrong_type(method, "years", "a pair of integers", years, fix)
    if len(years) != 2:
        raise ArgumentValueError(f"years has {len(years)} values, but must have two", where=method, fix=fix)
    first, last = (check_integer(year, method, "a year in years", example=2012) for year in years)
    if last < first:
        fix = f"pass the earlier year first: years=({last}, {first})"
        raise ArgumentValueError(f"years end in {last}, before they start in {first}", where=method, fix=fix)
    return first, last


_CHECKS: Mapping[str, Callable[[object, str, str], Any]] = {
    "tags": check_tags,
    "years": check_years,
    "offset": partial(check_integer, least=0, example=0),
    "sort": partial(check_choice, choices=SORTS),
}  # the other options are flags


def check_search(query: object, k: object, kind: object, options: Mapping[str, object]) -> SearchRequest:
    """Return a call of `Engine.search` with its options."""
    for name in options:
        if name not in SearchOptions.__annotations__:
            fix = f"pass one of {', '.join(SearchOptions.__annotations__)}"
            raise ArgumentTypeError(f"there is no option {name}", where="search", fix=fix)
    checked = {name: _CHECKS.get(name, check_flag)(value, "search", name) for name, value in options.items()}
    found = (
        check_query(query, "search"),
        check_integer(k, "search", "k", least=1),
        check_choice(kind, "search", "kind", KINDS),
    )
    return SearchRequest(*found, **checked)


def _wrong_type(method: str, name: str, expected: str, value: object, fix: str) -> ArgumentTypeError:
    shown = repr(value)
    shown = shown if len(shown) <= 40 else f"{shown[:39]}…"
    message = f"{name} must be {expected}, not {shown} ({type(value).__name__})"
    return ArgumentTypeError(message, where=method, fix=fix)
