"""Which queries may be recorded. The text of a query is stored only once it is frequent; what looks personal is never stored."""

from __future__ import annotations

import hashlib
import re
import unicodedata

MOST_CHARACTERS = 200  # a longer query is a text that somebody wrote
MINIMUM_COUNT = 5  # searches from which the text of a query is stored and shown
# What may name a person: an e-mail address, a web address, a long number outside formulas (telephone, account).
_PERSONAL = re.compile(r"\S@[^\s@]+\.[^\s@]|https?://|www\.|(?:\d[ ./()-]?){9,}")
_FORMULA = re.compile(r"\$[^$]*\$")


def recordable(query: str) -> str:
    """Return a query as it is counted, with white space made equal; nothing if it is not recorded."""
    text = " ".join(unicodedata.normalize("NFC", query).split())
    if len(text) > MOST_CHARACTERS or _PERSONAL.search(_FORMULA.sub(" ", text)):
        return ""
    return text


def keyed_hash(text: str, key: bytes) -> bytes:
    """Return a hash of a rare query, which counts it without storing its text. The key is that of the file."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), key=key, digest_size=16).digest()
