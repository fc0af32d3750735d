"""How many calls of the store a request makes: the table of docs/reference/store.md, and the limits that it states."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from porism.records import Query
from porism.search.engine import Engine
from porism.store import open_store
from porism.store.protocols import Snapshot
from porism.store.records import Formulas, StoredPosts, Threads
from porism.text.segment import official_html

from .counting import CountingSnapshot

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "store.md"
TYPED = r"proof that $\sqrt{2}$ is irrational"
QUESTION, ANSWER = 753, 754


class Row(NamedTuple):
    """A row of the table: how many calls a request may make, and which ones it makes."""

    most: int
    calls: list[str]


class Given:
    """Values that come with an answer of the store. Only those of the answer itself may be requested: others would be a
    call."""

    def __init__(self, values: Any, given: Mapping[str, Collection[int]]) -> None:
        self._values = values
        self._given = {name: set(numbers) for name, numbers in given.items()}

    def __getattr__(self, name: str) -> Any:
        method, given = getattr(self._values, name), self._given

        def read(*args: Any) -> Any:
            wanted = set(np.atleast_1d(args[-1]).tolist())
            known = given[args[0] if len(args) > 1 else name]
            if name == "of":  # the only one that is asked for more, and then has nothing
                return method(*args) if wanted <= known else ()
            assert wanted <= known, f"{name} of what did not come"
            return method(*args)

        return read


class SelfContained(CountingSnapshot):
    """A counting snapshot whose answers refuse to look up what did not come with them."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(snapshot)
        threads, formulas, posts = self.threads, self.formulas, self.posts

        def read_threads(*args: Any, **options: Any) -> Threads:
            found: Threads = threads(*args, **options)
            keys = {family: rows.distinct().tolist() for family, rows in found.terms.items()}
            return found._replace(lookup=Given(found.lookup, {**keys, "formulas": keys.get("formula", [])}))

        def read_formulas(*args: Any, **options: Any) -> Formulas:
            found: Formulas = formulas(*args, **options)
            numbers = found.numbers.tolist()
            return found._replace(records=Given(found.records, dict.fromkeys(("trees", "latex", "usage"), numbers)))

        def read_posts(*args: Any, **options: Any) -> StoredPosts:
            found: StoredPosts = posts(*args, **options)
            own = {0, *self.expressions([one.post.id for one in found.posts])}
            return found._replace(parts=Given(found.parts, {"of": own}))

        self.threads, self.formulas, self.posts = read_threads, read_formulas, read_posts
        self._content = snapshot.content

    def expressions(self, posts: Sequence[int]) -> set[int]:
        """Return the expressions of the formulas of posts, of their titles and comments."""
        threads = {thread.question.id: thread for thread in self._content.threads_by_id(posts).values()}
        formulas = self._content.formulas_by_post([*posts, *threads])
        found = self._content.expressions_by_formula([one.id for own in formulas.values() for one in own])
        return {one.id for one in found.values()}


def documented() -> dict[str, Row]:
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (.+) \|$", PAGE.read_text("utf-8"), re.M)
    return {name: Row(int(most), re.findall(r"`([\w.]+)`", calls)) for name, most, calls in rows}


class Counted:
    """An engine whose calls are counted, and a whole question of the sample."""

    def __init__(self, index: Path) -> None:
        snapshot = SelfContained(open_store(index).snapshot())
        self.calls = snapshot.calls
        post = snapshot.content.posts_by_id([QUESTION])[QUESTION]
        self.question = Query(official_html(post.title), official_html(post.body), post.tags)
        self.engine = Engine(snapshot)
        self._plain = Engine.open(index)
        self.calls.take()

    def of(self, request: Callable[[Engine], object]) -> list[str]:
        """Return the calls of a request."""
        self.calls.take()
        found = request(self.engine)
        calls = self.calls.take()
        assert timeless(found) == timeless(request(self._plain))
        return calls


@pytest.fixture
def counted(demo: Path) -> Counted:
    return Counted(demo / "index")


def timeless(found: Any) -> Any:
    """Return results without the time that they took."""
    return replace(found, seconds=0.0) if hasattr(found, "seconds") else found


def check(row: str, calls: list[str]) -> None:
    assert len(calls) <= documented()[row].most
    assert calls == documented()[row].calls


def test_a_whole_question_its_second_page_and_an_explanation(counted: Counted) -> None:
    question = counted.question
    check("a whole question with formulas, first page", counted.of(lambda engine: engine.search(question)))
    check("page 2, while the engine has the ranking", counted.of(lambda engine: engine.search(question, offset=10)))
    explained = counted.of(lambda engine: engine.explain(question, ANSWER))
    check("an explanation, while the engine has the ranking", explained)


@pytest.mark.parametrize(
    ("row", "request_of"),
    [
        ("a typed query with a formula, first page", lambda engine: engine.search(TYPED)),
        ("the formula tab", lambda engine: engine.formulas("a^2+b^2=c^2")),
        ("the formula tab, with wildcards", lambda engine: engine.formulas("?x^2+?y^2")),
        ("a query with a filter", lambda engine: engine.search("triangle $a^2+b^2$ tag:geometry")),
        ("a query with a phrase and an author", lambda engine: engine.search('"right triangle" $c^2$ user:1')),
        ("a query with wildcards", lambda engine: engine.search("$?x^2+?y^2=?z^2$ and $a+b=c$ triangles")),
    ],
)
def test_a_request_makes_few_calls(counted: Counted, row: str, request_of: Callable[[Engine], object]) -> None:
    check(row, counted.of(request_of))


def test_several_formulas_with_wildcards_and_a_filter_are_searched_together(counted: Counted) -> None:
    query = "$?x^2+?y^2=?z^2$ $?a+?b=?b+?a$ $x^2+y^2=1$ tag:geometry"
    assert len(counted.of(lambda engine: engine.search(query))) <= 9


def test_a_misspelt_query_asks_for_all_words_together(counted: Counted) -> None:
    calls = counted.of(lambda engine: engine.search("infinitly many primse of the form $4n+1$"))
    assert calls.count("statistics") <= 3
    assert len(calls) <= 7
