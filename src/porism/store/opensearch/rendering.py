"""Documents of threads and formulas as lines of a bulk request.

A term is written as its code and a frequency, `code|frequency`. The frequency is scale x tf / (k1 (1 - b + b length /
mean length)): the scripted similarity of its family makes BM25 of it, with the exact length of the document. Compiled,
since a thread has a thousand terms.
"""

from __future__ import annotations

import itertools
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.store.opensearch.schema import DELIMITER, WEIGHTING, document_id
from porism.store.records import TermRows
from porism.store.weighting import length_factor

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
LONGEST_TERM = 22  # bytes: ten digits, the delimiter, ten digits, and a space
BAR, SPACE, ZERO = ord(DELIMITER), ord(" "), ord("0")


@compiled
def _put_number(value: Any, out: Any, at: int) -> int:
    """Write a number in decimal digits; return the position after it."""
    digits, rest = 1, value
    while rest > 9:
        rest //= 10
        digits += 1
    for place in range(digits - 1, -1, -1):
        out[at + place] = ZERO + value % 10
        value //= 10
    return at + digits


@compiled
def _render(
    starts: Any,
    ends: Any,
    keys: Any,
    fields: Any,
    counts: Any,
    first: Any,
    weights: Any,
    factors: Any,
    scale: float,
    out: Any,
    out_ends: Any,
) -> None:
    """Write the terms of each document. Document d has the posts from first[d] to first[d + 1], whose entries follow
    each other."""
    at = 0
    for document in range(len(first) - 1):
        start, end = starts[first[document]], ends[first[document + 1] - 1]
        own = keys[start:end]
        order = np.argsort(own)
        entry = 0
        while entry < len(order):
            key, total = own[order[entry]], 0.0
            while entry < len(order) and own[order[entry]] == key:
                place = start + order[entry]
                total += weights[fields[place]] * counts[place]
                entry += 1
            at = _put_number(np.int64(key), out, at)
            out[at] = BAR
            frequency = np.int64(scale * total / factors[document] + 0.5)
            at = _put_number(max(frequency, 1), out, at + 1)
            out[at] = SPACE
            at += 1
        out_ends[document] = at


def render_terms(rows: TermRows, first: Ints, weights: Floats, mean_length: float, scale: int) -> list[str]:
    """Return the field of a family of each document; `first` says where the posts of each start, and where the last
    ones end."""
    if len(first) < 2:
        return []
    lengths = np.add.reduceat(rows.lengths @ weights, first[:-1])
    factors = np.asarray(length_factor(lengths, max(mean_length, 1e-9), WEIGHTING.k1, WEIGHTING.b), np.float64)
    size = int((rows.ends - rows.starts).sum())
    out, ends = np.empty(LONGEST_TERM * size + 1, np.uint8), np.empty(len(first) - 1, np.int64)
    _render(*rows[:5], first, weights, np.maximum(factors, 1e-9), float(scale), out, ends)
    text = out[: int(ends[-1])].tobytes().decode("ascii")
    bounds = [0, *ends.tolist()]
    return [text[start : max(start, end - 1)] for start, end in itertools.pairwise(bounds)]


def binary(data: bytes) -> str:
    """Return bytes as a value of a binary field."""
    return b64encode(data).decode("ascii")


def line(key: object, generation: int, fields: Mapping[str, Any]) -> bytes:
    """Return an action of a bulk request and its document."""
    own = {**fields, "from": generation} if generation else fields
    head = json.dumps({"index": {"_id": document_id(key, generation)}}, separators=(",", ":"))
    return f"{head}\n{json.dumps(own, separators=(',', ':'))}\n".encode()


def lines_of_columns(keys: Sequence[object], generation: int, columns: Mapping[str, Sequence[Any]]) -> Iterable[bytes]:
    """Yield the documents of some keys, given by column; empty values are left out."""
    names = list(columns)
    for key, *values in zip(keys, *columns.values(), strict=True):
        yield line(
            key, generation, {name: value for name, value in zip(names, values, strict=True) if value not in ("", [])}
        )
