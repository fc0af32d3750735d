"""What the operator of a server switches on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Operations:
    """What is measured and recorded. Nothing is on by default.

    `slow_ms` is the time from which a query is logged as slow, with its text only if `slow_text` is set. `analytics` is
    the file that records searches. Pages for the operator answer on a port of their own, which only this machine
    reaches: `port`, 0 for a free one, None for the one after that of the site. With `open_pages`, they answer on the
    port of the site, to everyone.
    """

    metrics: bool = False
    slow_ms: float | None = None
    slow_text: bool = False
    analytics: Path | None = None
    minimum_count: int = 5
    open_pages: bool = False
    port: int | None = None

    @property
    def has_own_port(self) -> bool:
        """Return whether there are pages for the operator alone."""
        return (self.metrics or self.analytics is not None) and not self.open_pages


NOTHING = Operations()
