"""The limits of what is read from files of others. An environment variable changes each one: PORISM_UNPACKED_RATIO=1000."""

from __future__ import annotations

import os
from typing import NamedTuple

from porism.errors import PorismError


class Limit(NamedTuple):
    """A limit: its value unless the environment sets another, and what it limits."""

    default: int
    meaning: str


LIMITS: dict[str, Limit] = {
    "unpacked_ratio": Limit(
        200,
        "how many times larger than a compressed file (.7z, .gz, .bz2, .xz) its content may be; the first 100 MB are free",
    ),
    "row_bytes": Limit(1 << 26, "bytes of a row of XML, a line of JSON or of a table; a longer one is left out"),
    "document_bytes": Limit(20_000_000, "bytes of a document in a folder; a larger one is left out"),
    "document_links": Limit(
        1,
        "names that a document in a folder may have (hard links), since others may be outside; one with more is left out",
    ),
    "rst_characters": Limit(
        2_000_000, "characters of a reStructuredText document, which is slow to read; a longer one is left out"
    ),
    "post_characters": Limit(2_000_000, "characters of the body of a post; a longer one is left out"),
    "comment_characters": Limit(50_000, "characters of a comment; a longer one is left out"),
    "post_tags": Limit(20_000, "HTML tags in the body of a post or in a document; one with more is left out"),
    "tag_depth": Limit(500, "HTML elements inside each other; deeper ones are left out, their text stays"),
}


def limit(name: str) -> int:
    """Return a limit: that of the environment, or the default."""
    text = os.environ.get(variable := f"PORISM_{name.upper()}", "")
    if not text:
        return LIMITS[name].default
    if not text.isdecimal() or not 0 < int(text) < 2**62:
        raise PorismError(f"{text!r} is not a limit", where=variable, fix="set a whole number above 0, or unset it")
    return int(text)
