from __future__ import annotations

from porism.lab.pooling.report import RunShare, report
from porism.lab.pooling.pool import Origin, PoolItem


def test_sizes_shares_unique_contributions_and_overlap() -> None:
    origins = [
        Origin("A.1", "1", "x", 1),
        Origin("A.1", "2", "x", 2),
        Origin("A.1", "2", "y", 1),
        Origin("A.2", "1", "y", 1),
    ]
    items = [PoolItem("A.2", "1"), PoolItem("A.1", "1"), PoolItem("A.1", "2")]
    found = report(items, origins)
    assert found.sizes == {"A.1": 2, "A.2": 1}
    assert found.mean == 1.5
    assert found.runs == (RunShare("x", 2, 1), RunShare("y", 2, 1))
    assert found.overlap == {("x", "y"): 1}


def test_an_empty_pool() -> None:
    assert report([], []).mean == 0.0
