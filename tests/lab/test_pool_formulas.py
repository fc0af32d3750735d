from __future__ import annotations

import random

import pytest

from porism.lab.pooling.pool import (
    FormulaInstance,
    ItemId,
    PoolOrigin,
    RankedRun,
    RunFormula,
    by_threads,
    by_votes,
    choose_instances,
    visual_pool,
    votes,
)


def hit(formula: int, visual: int, post: int = 0, thread: int = 0) -> RunFormula:
    return RunFormula(formula, post or formula, thread or formula, visual)


def test_a_run_is_pooled_down_to_enough_distinct_formulas() -> None:
    run = RankedRun("r", 2, {"B.1": [hit(1, 10), hit(2, 10), hit(3, 20), hit(4, 10), hit(5, 30)]})
    assert visual_pool([run]) == [PoolOrigin("B.1", "10", "r", 1), PoolOrigin("B.1", "20", "r", 3)]


def test_a_short_run_is_pooled_completely() -> None:
    run = RankedRun("r", 25, {"B.1": [hit(1, 10)]})
    assert visual_pool([run]) == [PoolOrigin("B.1", "10", "r", 1)]


def test_votes_are_sums_of_reciprocal_ranks() -> None:
    runs = [
        RankedRun("a", 1, {"B.1": [hit(1, 10), hit(2, 20)]}),
        RankedRun("b", 1, {"B.1": [hit(2, 20), hit(1, 10)]}),
    ]
    assert votes(runs, "B.1") == {hit(1, 10): 1.5, hit(2, 20): 1.5}
    assert votes(runs, "B.1", prefix=True) == {hit(1, 10): 1.0, hit(2, 20): 1.0}
    assert votes(runs, "B.2") == {}


def test_most_votes_come_first_and_the_seed_breaks_ties() -> None:
    tally = {hit(n, 10): 0.5 for n in range(1, 9)} | {hit(9, 10): 1.0}
    picks = [by_votes(tally, 5, random.Random(seed)) for seed in range(20)]
    assert all(pick[0] == hit(9, 10) and len(pick) == 5 for pick in picks)
    assert len({frozenset(pick) for pick in picks}) > 1
    assert by_votes(tally, 5, random.Random(3)) == picks[3]


def test_2020_rule_1_takes_all_posts_if_they_are_few() -> None:
    few = [hit(n, 10, thread=1) for n in range(1, 6)]
    assert by_threads(few, 5, random.Random(0)) == few


def test_2020_a_post_with_the_formula_twice_counts_once() -> None:
    twice = [RunFormula(1, 7, 1, 10), RunFormula(2, 7, 1, 10)]
    assert by_threads(twice, 5, random.Random(0)) == [RunFormula(1, 7, 1, 10)]


def test_2020_rule_2_takes_one_post_per_thread_and_fills_up() -> None:
    # six posts in two threads, N = 5
    posts = [hit(n, 10, thread=100 + (n > 3)) for n in range(1, 7)]
    for seed in range(20):
        chosen = by_threads(posts, 5, random.Random(seed))
        assert len(chosen) == len(set(chosen)) == 5
        assert {found.thread_id for found in chosen} == {100, 101}


@pytest.mark.parametrize("threads", [5, 6, 9])
def test_2020_rule_3_takes_one_post_of_each_of_n_threads(threads: int) -> None:
    posts = [hit(n, 10, thread=100 + n % threads) for n in range(1, 20)]
    for seed in range(20):
        chosen = by_threads(posts, 5, random.Random(seed))
        assert len(chosen) == len({found.thread_id for found in chosen}) == 5


def test_instances_are_chosen_for_every_pooled_formula() -> None:
    run = RankedRun("r", 9, {"B.1": [hit(1, 10), hit(2, 10), *(hit(n, 20) for n in range(3, 12))]})
    chosen = choose_instances([run], [ItemId("B.1", "10"), ItemId("B.1", "20")], seed=4)
    assert chosen[ItemId("B.1", "10")] == (FormulaInstance(1, 1), FormulaInstance(2, 2))
    assert chosen[ItemId("B.1", "20")] == tuple(FormulaInstance(n, n) for n in range(3, 8))
    by_thread = choose_instances([run], [ItemId("B.1", "20")], seed=4, policy="threads", limit=3)
    assert len(by_thread[ItemId("B.1", "20")]) == 3
    assert by_thread == choose_instances([run], [ItemId("B.1", "20")], seed=4, policy="threads", limit=3)
