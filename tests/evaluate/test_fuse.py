from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from porism.errors import PorismError
from porism.evaluate.runs.fuse import METHODS, fuse
from porism.evaluate.runs.run import Ranking, Run

ONE = Run("one", "trec", {"A.1": Ranking(["a", "b", "c"], [3.0, 2.0, 1.0])})
TWO = Run(
    "two",
    "trec",
    {"A.1": Ranking(["b", "d"], [10.0, 5.0]), "A.10": Ranking(["x"], [1.0]), "A.2": Ranking(["y"], [1.0])},
)


@pytest.mark.parametrize(
    ("method", "wanted"),
    [
        ("rrf", [("b", 1 / 62 + 1 / 61), ("a", 1 / 61), ("d", 1 / 62), ("c", 1 / 63)]),
        ("score-rrf", [("b", 2 / 62 + 10 / 61), ("d", 5 / 62), ("a", 3 / 61), ("c", 1 / 63)]),
        ("convex", [("b", 0.75), ("a", 0.5), ("d", 0.0), ("c", 0.0)]),
        ("combsum", [("b", 1.5), ("a", 1.0), ("d", 0.0), ("c", 0.0)]),
        ("combmnz", [("b", 3.0), ("a", 1.0), ("d", 0.0), ("c", 0.0)]),
    ],
)
def test_by_hand(method: str, wanted: list[tuple[str, float]]) -> None:
    found = fuse([ONE, TWO], method).rankings["A.1"]
    assert list(zip(found.items, found.scores, strict=True)) == [(item, pytest.approx(value)) for item, value in wanted]


def test_topics_are_in_their_natural_order_and_weights_count() -> None:
    assert list(fuse([ONE, TWO]).rankings) == ["A.1", "A.2", "A.10"]
    assert fuse([ONE, TWO], "convex", [3, 1]).rankings["A.1"].items[0] == "a"


lists = st.lists(
    st.tuples(st.sampled_from("abcdefghij"), st.floats(-5, 5, width=32)),
    min_size=1,
    max_size=8,
    unique_by=lambda pair: pair[0],
)


@given(st.lists(lists, min_size=2, max_size=5), st.sampled_from(sorted(METHODS)), st.randoms())
@settings(deadline=None)
def test_the_order_of_the_runs_does_not_matter(
    rows: list[list[tuple[str, float]]], method: str, chance: object
) -> None:
    runs = [
        Run(f"r{place}", "trec", {"A.1": Ranking([item for item, _ in row], [value for _, value in row])})
        for place, row in enumerate(rows)
    ]
    other = list(runs)
    chance.shuffle(other)  # type: ignore[attr-defined]
    assert fuse(runs, method) == fuse(other, method)


def test_posts_of_formulas_are_kept() -> None:
    one = Run("one", "task2", {"B.1": Ranking(["1"], [1.0], ["10"])})
    two = Run("two", "task2", {"B.1": Ranking(["2", "1"], [2.0, 1.0], ["20", "10"])})
    assert fuse([one, two]).rankings["B.1"] == Ranking(
        ["1", "2"], [pytest.approx(1 / 61 + 1 / 62), pytest.approx(1 / 61)], ["10", "20"]
    )


@pytest.mark.parametrize(
    ("runs", "method", "weights", "message"),
    [
        ([ONE], "rrf", None, "fusion takes two or more runs of one kind with rankings"),
        ([ONE, Run("t", "task1")], "rrf", None, "fusion takes two or more runs of one kind with rankings"),
        ([ONE, TWO], "sum", None, "no fusion 'sum'\n  fix: choose among rrf, score-rrf, convex, combsum, combmnz"),
        ([ONE, TWO], "rrf", [1.0], "1 weights for 2 runs\n  fix: give one weight per run, none negative, not all 0"),
    ],
)
def test_errors(runs: list[Run], method: str, weights: list[float] | None, message: str) -> None:
    with pytest.raises(PorismError, match=re.escape(message)):
        fuse(runs, method, weights)
