"""Counting keys block by block gives the same counts as counting them all together."""

from __future__ import annotations

import numpy as np
import pytest

from porism.store.embedded.storage import key_counts
from porism.store.embedded.storage.key_counts import KeyCounter


def test_counts_do_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_counts, "LEAST_BUFFER", 10)
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
