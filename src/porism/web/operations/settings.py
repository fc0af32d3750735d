"""What the operator of a server switches on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Operations:
    """What is measured and recorded. Nothing is on by default.

    `slow_ms` is the time from which a query is logged as slow, with its text only if `slow_text` is set. `analytics` is the file that records
    searches. Pages for the operator answer requests from this machine only, unless `open_pages` is set.
    """

    metrics: bool = False
    slow_ms: float | None = None
    slow_text: bool = False
    analytics: Path | None = None
    minimum_count: int = 5
    open_pages: bool = False


NOTHING = Operations()
