"""Arguments of the Python API, checked: an error names the method, the argument and an example.

A wrong type is an `ArgumentTypeError`, an impossible value an `ArgumentValueError`. Both are `PorismError`s; the first
is also a `TypeError`, the second also a `ValueError`. Each check returns the argument in the type that the engine
uses."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypedDict, TypeVar

from porism.errors import ArgumentTypeError, ArgumentValueError
from porism.records import Query
from porism.search.query import KINDS, SORTS, Kind, Sort

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


def check_count(k: object, method: str) -> int:
    """Return the number of hits, at least 1."""
    return check_integer(k, method, "k", least=1)


def check_offset(offset: object, method: str, name: str = "offset") -> int:
    """Return the number of hits to skip."""
    return check_integer(offset, method, name, least=0, example=0)


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
    "offset": check_offset,
    "sort": partial(check_choice, choices=SORTS),
}  # the other options are flags


def check_search(query: object, k: object, kind: object, options: Mapping[str, object]) -> SearchRequest:
    """Return a call of `Engine.search` with its options."""
    for name in options:
        if name not in SearchOptions.__annotations__:
            fix = f"pass one of {', '.join(SearchOptions.__annotations__)}"
            raise ArgumentTypeError(f"there is no option {name}", where="search", fix=fix)
    checked = {name: _CHECKS.get(name, check_flag)(value, "search", name) for name, value in options.items()}
    found = check_query(query, "search"), check_count(k, "search"), check_choice(kind, "search", "kind", KINDS)
    return SearchRequest(*found, **checked)


def _wrong_type(method: str, name: str, expected: str, value: object, fix: str) -> ArgumentTypeError:
    shown = repr(value)
    shown = shown if len(shown) <= 40 else f"{shown[:39]}…"
    message = f"{name} must be {expected}, not {shown} ({type(value).__name__})"
    return ArgumentTypeError(message, where=method, fix=fix)
