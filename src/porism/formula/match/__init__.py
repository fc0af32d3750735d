"""Find a pattern in a formula."""

from __future__ import annotations

from porism.formula.match.matcher import Match, find, match

__all__ = ["Match", "find", "match"]
