"""The page of statistics: counts and distributions of the collection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from porism.corpus.content import Content
from porism.corpus.stats import Count, distributions
from porism.search.engine import Engine


@dataclass(frozen=True, slots=True)
class DistributionTable:
    """A distribution: values with their counts, the greatest count, and whether the values are formulas."""

    title: str
    rows: tuple[Count, ...]
    greatest: int
    has_formulas: bool


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts and distributions of a collection."""

    counts: tuple[Count, ...]
    distributions: tuple[DistributionTable, ...]


# What is counted, and its label on the page.
LABELS = {
    "posts": "posts",
    "comments": "comments",
    "formulas": "formulas",
    "expressions": "distinct expressions (LaTeX)",
    "visuals": "visually distinct formulas",
    "links": "links between questions",
    "users": "users",
    "tags": "tags",
}


def statistics(engine: Engine) -> Statistics:
    """Return the statistics of an engine's collection."""
    return _statistics_of(engine.content)  # type: ignore[arg-type] # contents compare by identity


# Computed once, since a collection never changes.
@lru_cache(maxsize=4)
def _statistics_of(content: Content) -> Statistics:
    # Some sources have no users and no links; a zero would say nothing.
    counts = tuple(Count(label, number) for name, label in LABELS.items() if (number := content.count(name)))
    tables = tuple(
        DistributionTable(
            found.title, found.rows, max((row.number for row in found.rows), default=1), "latex" in found.columns
        )
        for found in distributions(content)
    )
    return Statistics(counts, tables)
