"""Time per judgment: mean and median, with a cap for pages that were left open."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class PageEvent(NamedTuple):
    """An item's page was opened (`open`) or submitted (`submit`) at this time."""

    field: str
    at: float


@dataclass(frozen=True, slots=True)
class TimeSummary:
    """Seconds per judgment. `capped` judgments took longer than the cap and count as the cap."""

    count: int
    mean: float
    median: float
    capped: int


def summarise_times(seconds: Iterable[float | None], cap: float | None = None) -> TimeSummary | None:
    """Summarise the known times, or return None if there are none.

    A page that was left open over lunch says nothing about the judgment: give a cap.

    >>> summarise_times([10, 20, 600], cap=60)
    TimeSummary(count=3, mean=30.0, median=20, capped=1)
    """
    known = [value for value in seconds if value is not None]
    if not known:
        return None
    values = known if cap is None else [min(value, cap) for value in known]
    over = 0 if cap is None else sum(value > cap for value in known)
    return TimeSummary(len(values), statistics.fmean(values), statistics.median(values), over)


def visit_seconds(events: Sequence[PageEvent]) -> float | None:
    """Return the time that one assessor spent on one item: the sum over visits, each from opening to submission.

    An opening without a submission (the page was left, or the server stopped) is not counted, since nobody knows when
    it ended. Without any complete visit the time is unknown (None).

    >>> visit_seconds([PageEvent("open", 0.0), PageEvent("open", 100.0), PageEvent("submit", 130.0)])
    30.0
    """
    visits: list[float] = []
    opened: float | None = None
    for event in events:
        if event.field == "open":
            opened = event.at
        elif event.field == "submit" and opened is not None:
            visits.append(max(0.0, event.at - opened))  # the clock may have been set back
            opened = None
    return sum(visits) if visits else None
