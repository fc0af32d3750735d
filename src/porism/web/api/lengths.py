"""The length that a request announces for its body."""

from __future__ import annotations

import re
import sys

_LENGTH = re.compile("[0-9]{1,18}")


def announced_length(header: str | None) -> int:
    """Return the number of bytes that Content-Length announces, 0 without one. What is no length is longer than any limit."""
    if header is None:
        return 0
    return int(header) if _LENGTH.fullmatch(header) else sys.maxsize
