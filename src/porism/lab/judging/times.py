"""How long a judgment takes: mean and median of submit minus accept, with a cap for idle pages."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TimeSummary:
    """Seconds per judgment over a number of judgments; `capped` of them were longer than the cap and count as the cap."""

    count: int
    mean: float
    median: float
    capped: int


def summary(seconds: Iterable[float | None], cap: float | None = None) -> TimeSummary | None:
    """Summarise the times that are known; None without any. A page left open over lunch says nothing of the judgment: give a cap.

    >>> summary([10, 20, 600], cap=60)
    TimeSummary(count=3, mean=30.0, median=20, capped=1)
    """
    values = [value for value in seconds if value is not None]
    if not values:
        return None
    cut = values if cap is None else [min(value, cap) for value in values]
    over = 0 if cap is None else sum(value > cap for value in values)
    return TimeSummary(len(cut), statistics.fmean(cut), statistics.median(cut), over)


def visit_seconds(events: Sequence[tuple[str, float]]) -> float | None:
    """Time spent on one item by one person: the sum over visits, a visit being an opening followed by a submission.

    An opening without a submission (the page was left, or the server died) is not counted: nobody knows when it ended. Without any complete visit the time is unknown (None).

    >>> visit_seconds([("open", 0.0), ("open", 100.0), ("submit", 130.0), ("open", 500.0), ("submit", 510.0)])
    40.0
    """
    visits: list[float] = []
    opened: float | None = None
    for kind, at in events:
        if kind == "open":
            opened = at
        elif kind == "submit" and opened is not None:
            visits.append(at - opened)
            opened = None
    return sum(visits) if visits else None
