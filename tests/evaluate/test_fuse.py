from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from porism.errors import PorismError
from porism.evaluate.fusion import FUSIONS, ScoredIds, rrf
from porism.evaluate.runs.derive import fuse
from porism.evaluate.runs.run import Run, RunRanking

ONE = Run("one", "trec", {"A.1": RunRanking(["a", "b", "c"], [3.0, 2.0, 1.0])})
TWO = Run(
    "two",
    "trec",
    {
        "A.1": RunRanking(["b", "d"], [10.0, 5.0]),
        "A.10": RunRanking(["x"], [1.0]),
        "A.2": RunRanking(["y"], [1.0]),
    },
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
def test_values_computed_by_hand(method: str, wanted: list[tuple[str, float]]) -> None:
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


@given(st.lists(lists, min_size=2, max_size=5), st.sampled_from(sorted(FUSIONS)), st.randoms())
@settings(deadline=None)
def test_the_order_of_the_runs_does_not_matter(
    rows: list[list[tuple[str, float]]], method: str, chance: object
) -> None:
    runs = [
        Run(f"r{place}", "trec", {"A.1": RunRanking([item for item, _ in row], [value for _, value in row])})
        for place, row in enumerate(rows)
    ]
    other = list(runs)
    chance.shuffle(other)  # type: ignore[attr-defined]
    assert fuse(runs, method) == fuse(other, method)


def test_posts_of_formulas_are_kept() -> None:
    one = Run("one", "task2", {"B.1": RunRanking(["1"], [1.0], ["10"])})
    two = Run("two", "task2", {"B.1": RunRanking(["2", "1"], [2.0, 1.0], ["20", "10"])})
    assert fuse([one, two]).rankings["B.1"] == RunRanking(
        ["1", "2"], [pytest.approx(1 / 61 + 1 / 62), pytest.approx(1 / 61)], ["10", "20"]
    )


@pytest.mark.parametrize(
    ("runs", "method", "weights", "message"),
    [
        ([ONE], "rrf", None, "fusion needs two or more runs of one kind, with rankings"),
        ([ONE, Run("t", "task1")], "rrf", None, "fusion needs two or more runs of one kind, with rankings"),
        (
            [ONE, TWO],
            "sum",
            None,
            "unknown fusion 'sum'\n  fix: choose one of rrf, score-rrf, convex, combsum, combmnz",
        ),
        ([ONE, TWO], "rrf", [1.0], "1 weights for 2 runs\n  fix: give one weight per run, none negative, not all 0"),
    ],
)
def test_errors(runs: list[Run], method: str, weights: list[float] | None, message: str) -> None:
    with pytest.raises(PorismError, match=re.escape(message)):
        fuse(runs, method, weights)


def rank(values: list[tuple[int, float]]) -> ScoredIds:
    return ScoredIds(np.array([item for item, _ in values]), np.array([value for _, value in values]))


def test_equal_sums_are_ordered_by_id_and_empty_rankings_are_allowed() -> None:
    fused = rrf([rank([(7, 2.0), (3, 1.0)]), rank([]), rank([(3, 2.0), (7, 1.0)])])
    assert fused.ids.tolist() == [3, 7]
    assert fused.scores.tolist() == [1 / 61 + 1 / 62] * 2
    assert not len(rrf([rank([])]).ids)


numbers = st.lists(
    st.tuples(st.integers(0, 30), st.floats(0, 5)), min_size=1, max_size=20, unique_by=lambda pair: pair[0]
)


@given(st.lists(numbers, min_size=2, max_size=6), st.lists(st.floats(0.1, 3), min_size=6, max_size=6))
@settings(deadline=None)
def test_sums_are_exact(rows: list[list[tuple[int, float]]], weights: list[float]) -> None:
    points: dict[int, list[float]] = {}
    for row, weight in zip(rows, weights, strict=False):
        for place, (item, _) in enumerate(row, 1):
            points.setdefault(item, []).append(weight * (1 / (60 + place)))
    fused = rrf([rank(row) for row in rows], weights)
    assert dict(zip(fused.ids.tolist(), fused.scores.tolist(), strict=True)) == {
        item: math.fsum(values) for item, values in points.items()
    }
