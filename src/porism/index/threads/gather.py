"""Compiled loops over the terms of many documents at once: codes with weights become rows, rows become text for the postings.

An entry is one 64-bit number: the row (16 bits), the code (32 bits) and the weight in halves (16 bits), so that one sort of plain
numbers brings equal terms of a document together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.index.storage.rows import HALVES, MOST, RowBlock

ROWS = 1 << 16  # that fit an entry
REPEATS = 40  # times a term is posted for one document; beyond, a weight no longer grows
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)

Numbers = npt.NDArray[np.int64]
Entries = npt.NDArray[np.uint64]


@compiled
def text_entries(pieces: Any, rows: Any, halves: Any, starts: Any, codes: Any) -> Any:
    """An entry for each code of each used piece of text."""
    size = 0
    for use in range(len(pieces)):
        size += starts[pieces[use] + 1] - starts[pieces[use]]
    out = np.empty(size, np.uint64)
    at = 0
    for use in range(len(pieces)):
        row = np.uint64(rows[use]) << np.uint64(48)
        weight = np.uint64(halves[use])
        for place in range(starts[pieces[use]], starts[pieces[use] + 1]):
            out[at] = row | np.uint64(codes[place]) << np.uint64(16) | weight
            at += 1
    return out


@compiled
def formula_entries(
    pieces: Any, rows: Any, halves: Any, starts: Any, items: Any, ends: Any, codes: Any, family: int, families: int
) -> Any:
    """An entry for each code, in one family, of each formula of each used piece of text; formulas of negative number are elsewhere."""
    size = 0
    for use in range(len(pieces)):
        for place in range(starts[pieces[use]], starts[pieces[use] + 1]):
            item = items[place] * families + family
            if item >= 0:
                size += ends[item] - (ends[item - 1] if item else 0)
    out = np.empty(size, np.uint64)
    at = 0
    for use in range(len(pieces)):
        row = np.uint64(rows[use]) << np.uint64(48)
        weight = np.uint64(halves[use])
        for place in range(starts[pieces[use]], starts[pieces[use] + 1]):
            item = items[place] * families + family
            if item >= 0:
                for spot in range(ends[item - 1] if item else 0, ends[item]):
                    out[at] = row | np.uint64(codes[spot]) << np.uint64(16) | weight
                    at += 1
    return out


@compiled
def _fold(entries: Any, codes: Any, counts: Any, sizes: Any, sums: Any) -> int:
    """Sorted entries as rows: each code of a row once, with the sum of its weights."""
    last = -1
    before = np.uint64(0)
    for at in range(len(entries)):
        key = entries[at] >> np.uint64(16)
        weight = np.int64(entries[at] & np.uint64(0xFFFF))
        row = np.int64(key >> np.uint64(32))
        if last < 0 or key != before:
            last += 1
            codes[last] = np.uint32(key & np.uint64(0xFFFFFFFF))
            counts[last] = 0
            sizes[row] += 1
            before = key
        counts[last] += weight
        sums[row] += weight
    return last + 1


def fold(entries: Entries, rows: int) -> RowBlock:
    """The rows that entries make."""
    entries.sort()
    codes = np.empty(len(entries), np.uint32)
    counts = np.empty(len(entries), np.int64)
    sizes, sums = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    size = _fold(entries, codes, counts, sizes, sums)
    kept = np.minimum(counts[:size], MOST).astype(np.uint16)
    return RowBlock(codes[:size].copy(), kept, sizes, (sums / HALVES).astype(np.float32))


@compiled
def _write(codes: Any, counts: Any, starts: Any, digits: Any, out: Any, ends: Any) -> None:
    at = 0
    for row in range(len(ends)):
        for place in range(starts[row], starts[row + 1]):
            number = codes[place]
            shift = 28
            while shift and not number >> shift:
                shift -= 4
            begin = at
            for down in range(shift, -1, -4):
                out[at] = digits[(number >> down) & 15]
                at += 1
            out[at] = 32
            at += 1
            width = at - begin
            repeats = min(REPEATS, (counts[place] + HALVES - 1) // HALVES)
            for _ in range(1, repeats):
                for spot in range(width):
                    out[at + spot] = out[begin + spot]
                at += width
        ends[row] = at


def term_texts(block: RowBlock) -> list[str]:
    """For each row its codes in hexadecimal, each as often as it counts (at most REPEATS times)."""
    starts = np.concatenate(([0], np.cumsum(block.sizes)))
    repeats = np.minimum(REPEATS, (block.counts.astype(np.int64) + HALVES - 1) // HALVES)
    out = np.empty(9 * int(repeats.sum()), np.uint8)  # eight digits and a blank
    ends = np.zeros(len(block.sizes), np.int64)
    _write(block.codes.astype(np.int64), block.counts.astype(np.int64), starts, _DIGITS, out, ends)
    spans = ends.tolist()
    text = out[: spans[-1] if spans else 0].tobytes().decode("ascii")
    return [text[start:end] for start, end in zip((0, *spans[:-1]), spans, strict=True)]
