"""Counting in little memory gives what counting at once gives."""

from __future__ import annotations

import numpy as np
import pytest

from porism.index.storage import tally
from porism.index.storage.tally import Tally


def test_counts_do_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "FEWEST", 10)
    numbers = np.random.default_rng(1).integers(0, 50, 1000).astype(np.uint32)
    counted = Tally("<u4")
    for start in range(0, 1000, 7):
        counted.add_all(numbers[start : start + 7])
    keys, counts = counted.result()
    wanted, often = np.unique(numbers, return_counts=True)
    assert keys.tolist() == wanted.tolist()
    assert counts.tolist() == often.tolist()


def test_it_goes_on_from_counts() -> None:
    counted = Tally("<u4", np.array([2, 5], np.uint32), np.array([1, 10]))
    counted.add(np.array([1, 5], np.uint32), np.array([3, 4]))
    keys, counts = counted.result()
    assert (keys.tolist(), counts.tolist()) == ([1, 2, 5], [3, 1, 14])


def test_nothing_was_counted() -> None:
    assert [part.tolist() for part in Tally("<u8").result()] == [[], []]
