"""Wrong arguments of the Python API: the error names the method, the argument and a remedy, and has the type that
Python programmers expect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import porism
from porism.errors import PorismError
from porism.records import Query
from porism.search.engine import Engine


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


WRONG_TYPES: list[tuple[str, dict[str, Any], str]] = [
    ("search", {"query": 5}, "search: query must be a string or a Query, not 5 (int)"),
    ("search", {"query": None}, "search: query must be a string or a Query, not None (NoneType)"),
    ("search", {"query": Query(7)}, "search: query.text must be a string, not 7 (int)"),  # type: ignore[arg-type]
    ("search", {"query": Query("x", tags="limits")}, "search: query.tags must be several strings, not 'limits' (str)"),  # type: ignore[arg-type]
    ("search", {"query": "x", "k": "ten"}, "search: k must be an integer, not 'ten' (str)"),
    ("search", {"query": "x", "k": 2.0}, "search: k must be an integer, not 2.0 (float)"),
    ("search", {"query": "x", "k": True}, "search: k must be an integer, not True (bool)"),
    ("search", {"query": "x", "kind": 3}, "search: kind must be a string, not 3 (int)"),
    ("search", {"query": "x", "tags": "calculus"}, "search: tags must be several strings, not 'calculus' (str)"),
    ("search", {"query": "x", "tags": 4}, "search: tags must be several strings, not 4 (int)"),
    ("search", {"query": "x", "tags": ("a", 4)}, "search: a tag in tags must be a string, not 4 (int)"),
    ("search", {"query": "x", "years": 2012}, "search: years must be a pair of integers, not 2012 (int)"),
    ("search", {"query": "x", "years": "2012-2014"}, "search: years must be a pair of integers, not '2012-2014' (str)"),
    ("search", {"query": "x", "years": ("2012", 2014)}, "search: a year in years must be an integer, not '2012' (str)"),
    ("search", {"query": "x", "accepted": "yes"}, "search: accepted must be True or False, not 'yes' (str)"),
    ("formulas", {"latex": b"x"}, "formulas: latex must be a string, not b'x' (bytes)"),
    ("formulas", {"latex": "x", "k": None}, "formulas: k must be an integer, not None (NoneType)"),
    ("explain", {"query": [], "id": 754}, "explain: query must be a string or a Query, not [] (list)"),
    ("explain", {"query": "x", "id": "754"}, "explain: id must be an integer, not '754' (str)"),
    ("ask", {"query": 1.5}, "ask: query must be a string or a Query, not 1.5 (float)"),
]

WRONG_VALUES: list[tuple[str, dict[str, Any], str]] = [
    ("search", {"query": "x", "k": -1}, "search: k is -1, but must be at least 1"),
    ("search", {"query": "x", "k": 0}, "search: k is 0, but must be at least 1"),
    ("search", {"query": "x", "offset": -5}, "search: offset is -5, but must be at least 0"),
    ("search", {"query": "x", "kind": "foo"}, 'search: kind cannot be "foo"'),
    ("search", {"query": "x", "years": (2012,)}, "search: years has 1 values, but must have two"),
    ("search", {"query": "x", "years": (2014, 2012)}, "search: years end in 2012, before they start in 2014"),
    ("formulas", {"latex": "x", "k": -1}, "formulas: k is -1, but must be at least 1"),
    ("formulas", {"latex": "x", "offset": -1}, "formulas: offset is -1, but must be at least 0"),
    ("formulas", {"latex": "x", "mode": "fuzzy"}, 'formulas: mode cannot be "fuzzy"'),
]


@pytest.mark.parametrize(("method", "arguments", "message"), WRONG_TYPES)
def test_a_wrong_type_is_a_type_error(engine: Engine, method: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        getattr(engine, method)(**arguments)
    assert str(caught.value).startswith(f"{message}\n  fix: pass ")
    assert isinstance(caught.value, PorismError)


@pytest.mark.parametrize(("method", "arguments", "message"), WRONG_VALUES)
def test_an_impossible_value_is_a_value_error(
    engine: Engine, method: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is asserted below
        getattr(engine, method)(**arguments)
    assert str(caught.value).startswith(f"{message}\n  fix: pass ")
    assert isinstance(caught.value, PorismError)


def test_the_remedy_shows_what_to_write(engine: Engine) -> None:
    with pytest.raises(TypeError) as one_tag:
        engine.search("x", tags="calculus")  # type: ignore[arg-type]
    assert str(one_tag.value).endswith('fix: pass a tuple, also for one tag: tags=("calculus",)')
    with pytest.raises(ValueError, match="years end") as reversed_years:
        engine.search("x", years=(2014, 2012))
    assert str(reversed_years.value).endswith("fix: pass the earlier year first: years=(2012, 2014)")
    with pytest.raises(ValueError, match="kind cannot be") as kind:
        engine.search("x", kind="foo")  # type: ignore[arg-type]
    assert str(kind.value).endswith('fix: pass one of "answers", "questions"')


def test_other_types_with_the_same_meaning_are_accepted(engine: Engine) -> None:
    expected = engine.search("integral", k=3, tags=("calculus",), years=(2010, 2020)).hits
    same = engine.search("integral", k=np.int64(3), tags=["calculus"], years=[2010, np.int32(2020)])  # type: ignore[arg-type]
    assert same.hits == expected
    tagged = engine.search(Query("integral", tags=["calculus"]), k=3)  # type: ignore[arg-type]
    assert tagged.hits == engine.search(Query("integral", tags=("calculus",)), k=3).hits
