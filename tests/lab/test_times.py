from __future__ import annotations

from porism.lab.judging.times import TimeSummary, summary, visit_seconds


def test_mean_and_median_by_hand() -> None:
    assert summary([10, 20, 30, 100]) == TimeSummary(4, 40.0, 25.0, 0)
    assert summary([]) is None
    assert summary([None, 7.0]) == TimeSummary(1, 7.0, 7.0, 0)


def test_idle_items_count_as_the_cap() -> None:
    assert summary([10, 20, 30, 1000], cap=60) == TimeSummary(4, 30.0, 25.0, 1)
    assert summary([60.0], cap=60) == TimeSummary(1, 60.0, 60.0, 0)


def test_a_visit_is_an_opening_and_the_submission_that_follows() -> None:
    assert visit_seconds([("open", 5.0), ("submit", 35.0)]) == 30.0
    assert visit_seconds([("open", 0.0), ("submit", 30.0), ("open", 100.0), ("submit", 110.0)]) == 40.0
    assert visit_seconds([("open", 0.0), ("open", 100.0), ("submit", 110.0)]) == 10.0
    assert visit_seconds([("open", 0.0)]) is None
    assert visit_seconds([("submit", 9.0)]) is None
    assert visit_seconds([("open", 0.0), ("submit", 5.0), ("submit", 9.0)]) == 5.0
