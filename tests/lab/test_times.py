from __future__ import annotations

from porism.lab.judging.assessments import PageEvent, TimeSummary, summarise_times, visit_seconds


def test_mean_and_median_computed_by_hand() -> None:
    assert summarise_times([10, 20, 30, 100]) == TimeSummary(4, 40.0, 25.0, 0)
    assert summarise_times([]) is None
    assert summarise_times([None, 7.0]) == TimeSummary(1, 7.0, 7.0, 0)


def test_long_times_count_as_the_cap() -> None:
    assert summarise_times([10, 20, 30, 1000], cap=60) == TimeSummary(4, 30.0, 25.0, 1)
    assert summarise_times([60.0], cap=60) == TimeSummary(1, 60.0, 60.0, 0)


def test_a_visit_lasts_from_opening_to_submission() -> None:
    assert visit_seconds([PageEvent("open", 5.0), PageEvent("submit", 35.0)]) == 30.0
    assert (
        visit_seconds(
            [PageEvent("open", 0.0), PageEvent("submit", 30.0), PageEvent("open", 100.0), PageEvent("submit", 110.0)]
        )
        == 40.0
    )
    assert visit_seconds([PageEvent("open", 0.0), PageEvent("open", 100.0), PageEvent("submit", 110.0)]) == 10.0
    assert visit_seconds([PageEvent("open", 0.0)]) is None
    assert visit_seconds([PageEvent("submit", 9.0)]) is None
    assert visit_seconds([PageEvent("open", 0.0), PageEvent("submit", 5.0), PageEvent("submit", 9.0)]) == 5.0


def test_a_clock_that_is_set_back_gives_no_negative_time() -> None:
    assert visit_seconds([PageEvent("open", 100.0), PageEvent("submit", 40.0)]) == 0.0
