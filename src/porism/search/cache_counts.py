"""How often a cache had what was looked up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class CacheCounts:
    """Hits and misses of a cache."""

    hits: int = 0
    misses: int = 0

    def count(self, hit: bool) -> None:
        """Count a lookup."""
        self.hits += hit
        self.misses += not hit
