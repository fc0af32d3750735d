"""The headers of a request: how much of them is accepted, the length that they announce for the body, and cookies.

Cookies are read here and nowhere else: the reader of the standard library takes quadratic time for a quoted one in older interpreters.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

MOST_HEADERS = 100
MOST_HEADER_BYTES = 64 * 1024  # of the names and values of all headers together
LONGEST_HEADER = 16 * 1024
# Headers that libraries take apart piece by piece. Nobody needs a long one.
LONGEST = {b"content-type": 1024, b"range": 1024}
LONGEST_COOKIE = 4096
_LENGTH = re.compile("[0-9]{1,18}")

Headers = Iterable[tuple[bytes, bytes]]


def headers_fit(headers: Headers) -> bool:
    """Return whether the headers of a request are within the limits: each of them, their number, and all together."""
    number = total = 0
    for name, value in headers:
        number, total = number + 1, total + len(name) + len(value)
        if number > MOST_HEADERS or len(name) + len(value) > LONGEST.get(name, LONGEST_HEADER):
            return False
    return total <= MOST_HEADER_BYTES


def announced_length(header: str | None) -> int:
    """Return the number of bytes that Content-Length announces, 0 without one. What is no length is longer than any limit."""
    if header is None:
        return 0
    return int(header) if _LENGTH.fullmatch(header) else sys.maxsize


def cookie_of(headers: Headers, name: str) -> str:
    """Return the value of a cookie, the last of this name, or "". Quotes are part of a value: ours have none."""
    wanted, found = name.encode("ascii"), b""
    for header, value in headers:
        if header == b"cookie":
            for pair in value.split(b";"):
                given, _, content = pair.partition(b"=")
                if given.strip() == wanted:
                    found = content.strip()
    return found.decode("latin-1") if len(found) <= LONGEST_COOKIE else ""
