"""Answers of searches are read as they are, those that are only scores and ids as arrays."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import cbor2
import pytest
from opensearchpy.exceptions import SerializationError

from porism.store.opensearch.transport import CborSerializer, SortedHits, read_searches

IDS = (0, 23, 24, 255, 256, 65_535, 65_536, 1 << 40)


def stream(value: object) -> bytes:
    """Return CBOR as nodes write it: containers of unknown length, floating-point numbers in single precision."""
    if isinstance(value, dict):
        return b"\xbf" + b"".join(stream(key) + stream(one) for key, one in value.items()) + b"\xff"
    if isinstance(value, list):
        return b"\x9f" + b"".join(map(stream, value)) + b"\xff"
    return struct.pack(">Bf", 0xFA, value) if isinstance(value, float) else cbor2.dumps(value)


def answer(*searches: Sequence[object]) -> dict[str, object]:
    """Return the answer of searches with these hits."""
    return {"responses": [{"timed_out": False, "hits": {"hits": list(hits)}, "status": 200} for hits in searches]}


def test_scores_and_ids_are_arrays() -> None:
    hits = [{"sort": [1.5 + at, number]} for at, number in enumerate(IDS)]
    found = read_searches(stream(answer(hits, [], hits[:1])))
    first, empty, last = (one["hits"]["hits"] for one in found["responses"])
    assert isinstance(first, SortedHits)
    assert first.ids.tolist() == list(IDS)
    assert first.scores.tolist() == [1.5 + at for at in range(len(IDS))]
    assert empty == []
    assert last.ids.tolist() == [0]
    assert [one["status"] for one in found["responses"]] == [200, 200, 200]


@pytest.mark.parametrize(
    "made",
    [
        answer([{"sort": [7]}]),
        answer([{"sort": [1.5, 7], "fields": {"id": [7]}}]),
        answer([{"sort": [1.5, -7]}]),
        answer([{"sort": [1.5, 7]}], [{"sort": ["a"]}]),
        {"responses": [{"error": {"type": "dhits", "reason": "none"}, "status": 503}]},
        {"responses": []},
    ],
)
def test_anything_else_is_read_as_it_is(made: dict[str, object]) -> None:
    assert read_searches(stream(made)) == made


def test_damaged_answers_are_errors_as_before() -> None:
    data = stream(answer([{"sort": [1.5 + at, number]} for at, number in enumerate(IDS)]))
    for end in range(11, len(data)):
        with pytest.raises(SerializationError):
            CborSerializer().loads(data[:end])
