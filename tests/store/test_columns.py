"""Columns are read as they were written; keys that are counted block by block have the counts of all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from porism.store.embedded.storage import columns
from porism.store.embedded.storage.columns import ColumnWriter, KeyCounter, read_columns

TYPES = {"label": "<i4", "edge": "u1", "none": "<i8"}


def test_round_trip(tmp_path: Path) -> None:
    with ColumnWriter(tmp_path, TYPES) as writer:
        writer.append("label", [1, 2])
        writer.append("label", [3])
        writer.append("edge", [255])
    found = read_columns(tmp_path, TYPES)
    assert found["label"].tolist() == [1, 2, 3]
    assert found["edge"].tolist() == [255]
    assert found["none"].tolist() == []
    assert str(found["label"].dtype) == "int32"


def test_counts_do_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "LEAST_BUFFER", 10)
    numbers = np.random.default_rng(1).integers(0, 50, 1000).astype(np.uint32)
    counter = KeyCounter("<u4")
    for start in range(0, 1000, 7):
        counter.count(numbers[start : start + 7])
    keys, counts = counter.result()
    expected_keys, expected_counts = np.unique(numbers, return_counts=True)
    assert keys.tolist() == expected_keys.tolist()
    assert counts.tolist() == expected_counts.tolist()


def test_an_empty_counter_has_no_keys() -> None:
    assert [column.tolist() for column in KeyCounter("<u8").result()] == [[], []]
