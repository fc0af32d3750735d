from __future__ import annotations

from porism.lab.pooling.pool import PoolItem, PoolOrigin, RunContribution, RunOverlap, report


def test_sizes_contributions_and_overlap() -> None:
    origins = [
        PoolOrigin("A.1", "1", "x", 1),
        PoolOrigin("A.1", "2", "x", 2),
        PoolOrigin("A.1", "2", "y", 1),
        PoolOrigin("A.2", "1", "y", 1),
    ]
    items = [PoolItem("A.2", "1"), PoolItem("A.1", "1"), PoolItem("A.1", "2")]
    found = report(items, origins)
    assert found.sizes == {"A.1": 2, "A.2": 1}
    assert found.mean == 1.5
    assert found.runs == (RunContribution("x", 2, 1), RunContribution("y", 2, 1))
    assert found.overlap == (RunOverlap("x", "y", 1),)


def test_an_empty_pool() -> None:
    assert report([], []).mean == 0.0
