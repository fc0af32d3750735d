"""The weight of a document's terms for a query: BM25 over mapped rows, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.index.storage.rows import HALVES, Codes, Rows, Values

K1 = 1.2
B = 0.75
SHIFT = 20  # bits of a code behind the first ones
FAR = 8  # in a row so many times as long as the query, a term is looked up, not walked to


@compiled
def _score(
    starts: Any,
    codes: Any,
    counts: Any,
    lengths: Any,
    mean: float,
    rows: Any,
    asked: Any,
    weights: Any,
    table: Any,
    out: Any,
) -> None:
    """Sum weight x (k1 + 1) tf / (tf + k1 (1 - b + b length / mean)) over the terms that a row and the query share.

    Most codes of a row are not asked for: `table` tells by the first bits of a code which of the asked ones it could be.
    """
    for number in range(len(rows)):
        row = rows[number]
        at, end = starts[row], starts[row + 1]
        norm = K1 * (1.0 - B + B * lengths[row] / mean)
        total = 0.0
        if end - at > FAR * len(asked):
            for query in range(len(asked)):
                at = first_from(codes, at, end, asked[query])
                if at == end:
                    break
                if codes[at] == asked[query]:
                    count = counts[at] / HALVES
                    total += weights[query] * (K1 + 1.0) * count / (count + norm)
        else:
            for place in range(at, end):
                bits = codes[place] >> SHIFT
                for query in range(table[bits], table[bits + 1]):
                    if codes[place] == asked[query]:
                        count = counts[place] / HALVES
                        total += weights[query] * (K1 + 1.0) * count / (count + norm)
        out[number] = total


@compiled
def first_from(codes: Any, low: int, high: int, wanted: int) -> int:
    """The first place from `low` on, before `high`, whose code is not less than the wanted one (`high`: there is none)."""
    while low < high:
        middle = (low + high) >> 1
        if codes[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


def score_rows(rows: Rows, numbers: npt.NDArray[np.int64], asked: Codes, weights: Values) -> Values:
    """The score of each named row; `asked` ascends, `weights` hold query weight x idf."""
    out = np.zeros(len(numbers), np.float32)
    if len(asked) and rows.mean > 0:
        table = np.zeros((1 << 32 - SHIFT) + 1, np.int64)
        np.cumsum(np.bincount(asked >> SHIFT, minlength=len(table) - 1), out=table[1:])
        _score(rows.starts, rows.codes, rows.counts, rows.lengths, rows.mean, numbers, asked, weights, table, out)
    return out


def idf(documents: int, frequency: npt.NDArray[np.float64]) -> Values:
    """What a term is worth: ln(1 + (N - df + .5) / (df + .5))."""
    worth: Values = np.log1p((documents - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
    return worth


def shares(rows: Rows, number: int, asked: Codes, weights: Values) -> dict[int, float]:
    """What each shared term adds to the score of one row, by its place among the asked."""
    codes, counts = rows.row(number)
    if not len(codes) or not len(asked):
        return {}
    at = np.minimum(np.searchsorted(codes, asked), len(codes) - 1)
    norm = K1 * (1.0 - B + B * float(rows.lengths[number]) / rows.mean)
    return {
        place: float(weights[place]) * (K1 + 1.0) * float(counts[spot]) / (float(counts[spot]) + norm)
        for place, spot in enumerate(at.tolist())
        if codes[spot] == asked[place]
    }


def has_any(rows: Rows, number: int, asked: Codes) -> bool:
    """Whether a row has one of the terms asked for (whose codes ascend)."""
    codes = rows.codes[rows.starts[number] : rows.starts[number + 1]]
    if not len(codes) or not len(asked):
        return False
    at = np.minimum(np.searchsorted(codes, asked), len(codes) - 1)
    return bool((codes[at] == asked).any())
