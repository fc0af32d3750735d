"""Checks of the arguments of the Python API: a mistake is reported where it is made, with the method, the argument and
an example.

A wrong type is an `ArgumentTypeError`, an impossible value an `ArgumentValueError`. Both are `PorismError`s; the first
is also a `TypeError`, the second also a `ValueError`. Each check returns the argument in the type that the engine
uses."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from porism.errors import ArgumentTypeError, ArgumentValueError
from porism.records import Query

Choice = TypeVar("Choice", bound=str)


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


class Page(NamedTuple):
    """How many hits, and how many to skip before them."""

    k: int
    offset: int


def check_page(k: object, offset: object, method: str) -> Page:
    """Return the number of hits, at least 1, and the number of hits to skip."""
    return Page(check_integer(k, method, "k", least=1), check_integer(offset, method, "offset", least=0, example=0))


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


def check_years(years: object, method: str) -> tuple[int, int] | None:
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


def _wrong_type(method: str, name: str, expected: str, value: object, fix: str) -> ArgumentTypeError:
    shown = repr(value)
    shown = shown if len(shown) <= 40 else f"{shown[:39]}…"
    message = f"{name} must be {expected}, not {shown} ({type(value).__name__})"
    return ArgumentTypeError(message, where=method, fix=fix)
