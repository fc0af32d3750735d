"""Does a pattern occur in a formula, where, and how strictly?"""

from __future__ import annotations

from porism.formula.match.matcher import Match, find, match

__all__ = ["Match", "find", "match"]
