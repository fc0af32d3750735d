"""Stable 64-bit hashes of text: the same on every machine and in every Python."""

from __future__ import annotations

from hashlib import blake2b


def hash64(text: str) -> int:
    """Return the signed 64-bit BLAKE2b hash of a text; SQLite stores it as an integer."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True)
