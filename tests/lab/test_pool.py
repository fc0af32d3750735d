from __future__ import annotations

from porism.lab.pooling.pool import (
    DEPTHS,
    PooledAnswer,
    PoolItem,
    PoolOrigin,
    RankedRun,
    SubmittedAnswer,
    depth_pool,
    judging_order,
    name_answers,
)
from porism.records import topic_key


def ranked_run(run: str, depth: int, count: int, start: int = 0) -> RankedRun:
    return RankedRun(run, depth, {"A.1": [str(n) for n in range(start, start + count)]})


def test_depths_of_2022() -> None:
    assert DEPTHS == {1: {"primary": 45, "alternate": 20}, 2: {"primary": 25, "alternate": 15}}


def test_each_run_is_cut_at_its_own_depth() -> None:
    origins = depth_pool([ranked_run("p", 45, 60), ranked_run("a", 20, 60, start=100)])
    assert sum(origin.run == "p" for origin in origins) == 45
    assert sum(origin.run == "a" for origin in origins) == 20
    assert PoolOrigin("A.1", "44", "p", 45) in origins
    assert PoolOrigin("A.1", "119", "a", 20) in origins


def test_a_short_run_is_pooled_completely_and_a_repeated_item_once() -> None:
    origins = depth_pool([RankedRun("r", 3, {"A.1": ["7", "7", "8"]})])
    assert origins == [PoolOrigin("A.1", "7", "r", 1), PoolOrigin("A.1", "8", "r", 2)]


def test_the_judging_order_is_seeded_by_topic_and_hides_the_rank() -> None:
    origins = depth_pool([ranked_run("p", 45, 45)])
    first = judging_order(origins, seed=1)
    assert first == judging_order(reversed(origins), seed=1)
    assert [item.item for item in first] != [item.item for item in judging_order(origins, seed=2)]
    assert [item.item for item in first] != sorted(item.item for item in first)
    assert len({item.item for item in first}) == 45


def test_topics_are_sorted_by_number() -> None:
    origins = [PoolOrigin("A.10", "1", "r", 1), PoolOrigin("A.9", "1", "r", 1)]
    assert [item.topic for item in judging_order(origins, 0)] == ["A.9", "A.10"]
    assert topic_key("A.9") < topic_key("A.10") < topic_key("B.1")


def test_added_runs_contribute_only_new_items_as_the_next_round() -> None:
    first = judging_order(depth_pool([ranked_run("p", 3, 3)]), seed=1)
    more = judging_order(depth_pool([ranked_run("late", 5, 5)]), seed=1, already=first)
    assert {(item.item, item.round) for item in more} == {("3", 2), ("4", 2)}
    third = judging_order([PoolOrigin("A.1", "99", "x", 1)], 1, already=[*first, *more])
    assert third == [PoolItem("A.1", "99", 3)]


def test_equal_written_answers_of_a_topic_share_one_synthetic_id() -> None:
    rows = [("run2", "A.1", "same"), ("run1", "A.1", "same"), ("run1", "A.2", "same"), ("run3", "A.1", "other")]
    answers, origins = name_answers([SubmittedAnswer(*row) for row in rows])
    assert answers == [
        PooledAnswer("A.1", "d_1", "same"),
        PooledAnswer("A.1", "d_2", "other"),
        PooledAnswer("A.2", "d_3", "same"),
    ]
    assert set(origins) == {
        PoolOrigin("A.1", "d_1", "run1", 0),
        PoolOrigin("A.1", "d_1", "run2", 0),
        PoolOrigin("A.1", "d_2", "run3", 0),
        PoolOrigin("A.2", "d_3", "run1", 0),
    }
    fresh, _ = name_answers([SubmittedAnswer("late", "A.1", "same"), SubmittedAnswer("late", "A.2", "new")], answers)
    assert fresh == [PooledAnswer("A.2", "d_4", "new")]
