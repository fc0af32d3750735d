"""Compress the packed trees of single formulas: with a dictionary of the most frequent labels they take two fifths of their size."""

from __future__ import annotations

import zlib

from porism.integrity import DamageError

LEVEL, WINDOW, MEMORY = 6, -12, 4  # trees are small; preparing a larger window takes longer than compressing
RAW = -15  # without header and checksum: the manifest has the digest of the file
LARGEST = 1 << 26  # bytes of the packed trees of one formula; damaged data could expand to any size
# The labels of most nodes, the most frequent last, as zlib recommends. A change here changes the format of the index.
FREQUENT = (
    "O!leq O!lt F!sin F!cos F!log F!abs M!||1x1 M!{}1x1 M![]1x1 O!int \u222b O!sum \u2211 O!in \u2208 \u2264 < O!to \u2192 C!infinity "
    "V!\u221e C!\u03c0 V!\u03c0 V!\u03b1 O!divide-slash / C!\u2026 W! . V!I V!T V!C V!F V!R V!j V!P V!u V!S V!N V!B V!z V!q V!g V!c "
    "V!X N!5 V!r V!e O!root V!t V!d V!m N!4 V!s V!A V!y V!p V!f V!b M!()1x2 , V!i O!apply V!k N!3 U!plus N!0 O!minus \u2212 O!SUB + "
    "V!a U!eq O!SUP = M!()1x1 U!times O!divide V!x V!n N!2 N!1"
)
DICTIONARY = FREQUENT.replace(" ", "\0").encode()


def compress_trees(packed: bytes) -> bytes:
    """Return packed trees in compressed form."""
    writer = zlib.compressobj(LEVEL, zlib.DEFLATED, WINDOW, MEMORY, zdict=DICTIONARY)
    return writer.compress(packed) + writer.flush()


def expand_trees(data: bytes) -> bytes:
    """Return the packed trees of their compressed form."""
    try:
        return zlib.decompressobj(RAW, zdict=DICTIONARY).decompress(data, LARGEST)
    except zlib.error as error:
        fix = "find the damaged file: porism verify INDEX"
        raise DamageError(f"the stored trees of a formula are damaged: {error}", fix=fix) from None
