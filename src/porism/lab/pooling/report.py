"""Statistics of a pool: sizes per topic, contributions per run, unique contributions, and overlap of runs."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from porism.lab.pooling.pool import ItemId, Origin, PoolItem, topic_key


@dataclass(frozen=True, slots=True)
class RunContribution:
    """The items that a run contributed to a pool, and those that no other run contributed."""

    run: str
    pooled: int
    unique: int


class RunOverlap(NamedTuple):
    """The number of pooled items that two runs have in common."""

    first: str
    second: str
    items: int


@dataclass(frozen=True, slots=True)
class PoolReport:
    """Sizes by topic, contributions by run, and the overlap of each pair of runs."""

    sizes: dict[str, int]
    runs: tuple[RunContribution, ...]
    overlap: tuple[RunOverlap, ...]

    @property
    def mean(self) -> float:
        """Mean number of items per topic."""
        return statistics.fmean(self.sizes.values()) if self.sizes else 0.0


def report(items: Iterable[PoolItem], origins: Iterable[Origin]) -> PoolReport:
    """Count a pool."""
    sizes: dict[str, int] = {}
    for item in items:
        sizes[item.topic] = sizes.get(item.topic, 0) + 1
    by_run: dict[str, set[ItemId]] = {}
    by_item: dict[ItemId, set[str]] = {}
    for origin in origins:
        key = ItemId(origin.topic, origin.item)
        by_run.setdefault(origin.run, set()).add(key)
        by_item.setdefault(key, set()).add(origin.run)
    runs = sorted(by_run)
    contributions = [
        RunContribution(run, len(by_run[run]), sum(len(by_item[key]) == 1 for key in by_run[run])) for run in runs
    ]
    overlap = [RunOverlap(a, b, len(by_run[a] & by_run[b])) for a, b in combinations(runs, 2)]
    by_topic = dict(sorted(sizes.items(), key=lambda pair: topic_key(pair[0])))
    return PoolReport(by_topic, tuple(contributions), tuple(overlap))
