"""Documents as lines of a bulk request: threads, formulas, files and short tables.

A term is written as its code and a frequency, `code|frequency`. The frequency is scale x tf / (k1 (1 - b + b length /
mean length)): the scripted similarity of its family makes BM25 of it, with the exact length of the document. Compiled,
since a thread has a thousand terms.
"""

from __future__ import annotations

import itertools
import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import cbor2
import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.store.opensearch.manifest import Family
from porism.store.opensearch.schema import DELIMITER, WEIGHTING, document_id, file_key, group_key, image_key, year_field
from porism.store.records import TermRows, Threads
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


FILE_BLOCK = 1 << 21  # bytes of a file in one document


class ThreadRecords(NamedTuple):
    """The records of some threads, and those of their formulas."""

    terms: Sequence[bytes]
    formulas: Sequence[bytes]


def lines_of_threads(
    batch: Threads, records: ThreadRecords, families: Mapping[str, Family], weights: npt.NDArray[Any], generation: int
) -> Iterator[bytes]:
    """Yield threads as actions of a bulk request. The records of their formulas follow as documents of their own, since
    a node that reads a record has to decompress all that is stored with it."""
    first = np.append(batch.starts, batch.ends[-1:])
    columns: dict[str, Sequence[Any]] = {"id": batch.post_ids[batch.starts].tolist()}
    for family, rows in batch.terms.items():
        columns[family] = render_terms(rows, first, weights, families[family].mean, families[family].scale)
    columns |= _years(batch)
    columns["record"] = [binary(one) for one in records.terms]
    yield from lines_of_columns(columns["id"], generation, columns)
    for number, formulas in zip(columns["id"], records.formulas, strict=True):
        yield line(group_key(number), generation, {"formulas": binary(formulas)})


def _years(batch: Threads) -> dict[str, list[list[int]]]:
    """Return the distinct years of the posts of each thread, by kind and acceptance."""
    found: dict[str, list[list[int]]] = {}
    for kind in ("question", "answer"):
        for only_accepted in (False, True):
            own = found.setdefault(year_field(kind, only_accepted), [])
            for start, end in zip(batch.starts.tolist(), batch.ends.tolist(), strict=True):
                posts = slice(start, start + 1) if kind == "question" else slice(start + 1, end)
                years = batch.years[posts][batch.accepted[posts]] if only_accepted else batch.years[posts]
                own.append(sorted(set(years.tolist())))
    return found


def image_line(name: str, number: int, data: bytes, generation: int) -> bytes:
    """Return the document of a picture; numbers are those of a stream, so that no two pictures should have the same."""
    return line(
        image_key(name), generation, {"table": "images", "block": number, "data": binary(cbor2.dumps([name, data]))}
    )


def single_line(key: str, rows: Sequence[Any], generation: int) -> bytes:
    """Return the document of a short table."""
    return line(key, generation, {"table": key, "data": binary(cbor2.dumps(rows))})


def file_lines(name: str, content: bytes) -> Iterator[bytes]:
    """Yield a file in blocks."""
    for number, at in enumerate(range(0, max(1, len(content)), FILE_BLOCK)):
        yield line(file_key(name, number), 0, {"table": "file", "data": binary(content[at : at + FILE_BLOCK])})
