"""What a pool consists of: sizes per topic, what each run brought, what it alone brought, and how runs overlap."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from porism.lab.pooling.rules import Origin, PoolItem, topic_key


@dataclass(frozen=True, slots=True)
class RunShare:
    """One run's part of a pool: items it pooled, and items that no other run pooled."""

    run: str
    pooled: int
    unique: int


@dataclass(frozen=True, slots=True)
class PoolReport:
    """Sizes by topic, shares by run, and the number of items that two runs have in common."""

    sizes: dict[str, int]
    runs: tuple[RunShare, ...]
    overlap: dict[tuple[str, str], int]

    @property
    def mean(self) -> float:
        """Mean number of items per topic."""
        return statistics.fmean(self.sizes.values()) if self.sizes else 0.0


def report(items: Iterable[PoolItem], origins: Iterable[Origin]) -> PoolReport:
    """Count a pool."""
    sizes: dict[str, int] = {}
    for item in items:
        sizes[item.topic] = sizes.get(item.topic, 0) + 1
    by_run: dict[str, set[tuple[str, str]]] = {}
    by_item: dict[tuple[str, str], set[str]] = {}
    for origin in origins:
        key = (origin.topic, origin.item)
        by_run.setdefault(origin.run, set()).add(key)
        by_item.setdefault(key, set()).add(origin.run)
    runs = sorted(by_run)
    shares = [RunShare(run, len(by_run[run]), sum(len(by_item[key]) == 1 for key in by_run[run])) for run in runs]
    overlap = {(a, b): len(by_run[a] & by_run[b]) for i, a in enumerate(runs) for b in runs[i + 1 :]}
    return PoolReport(dict(sorted(sizes.items(), key=lambda pair: topic_key(pair[0]))), tuple(shares), overlap)
