"""Entries become rows, rows become text, whatever way they are counted."""

from __future__ import annotations

from collections import Counter

import numpy as np

from porism.index.storage.rows import RowBlock
from porism.index.threads.gather import fold, formula_entries, term_texts, text_entries


def uses(*rows: tuple[int, int, int]) -> list[np.ndarray]:
    return [np.array(column, np.int64) for column in zip(*rows, strict=True)]


def test_rows_are_sums_of_weights() -> None:
    codes = np.array([5, 4_000_000_000, 5, 7], np.uint32)
    # Piece 0 has the first three codes, piece 1 the last; piece 0 counts twice (in halves) in row 0, both count in row 2.
    entries = text_entries(*uses((0, 0, 2), (0, 2, 1), (1, 2, 40)), np.array([0, 3, 4]), codes)
    block = fold(entries, 3)
    assert block.codes.tolist() == [5, 4_000_000_000, 5, 7, 4_000_000_000]
    assert block.counts.tolist() == [4, 2, 2, 40, 1]
    assert block.sizes.tolist() == [2, 0, 3]
    assert block.lengths.tolist() == [3.0, 0.0, 21.5]


def test_formulas_of_negative_number_are_left_out() -> None:
    ends = np.array([1, 2, 2, 4, 4, 5])  # two formulas of three families
    codes = np.array([10, 11, 12, 13, 14], np.uint32)
    items = np.array([1, -1, 0])
    starts = np.array([0, 2, 3])
    for family, wanted in ((0, [12, 13, 10]), (1, [11]), (2, [14])):
        entries = formula_entries(*uses((0, 0, 2), (1, 1, 2)), starts, items, ends, codes, family, 3)
        assert sorted(((entries >> np.uint64(16)) & np.uint64(0xFFFFFFFF)).tolist()) == sorted(wanted)


def test_counts_beyond_the_room_are_cut_but_the_length_is_whole() -> None:
    entries = text_entries(*uses((0, 0, 40000), (0, 0, 40000)), np.array([0, 1]), np.array([3], np.uint32))
    block = fold(entries, 1)
    assert (block.counts.tolist(), block.lengths.tolist()) == ([65535], [40000.0])


def test_terms_stand_in_the_text_as_often_as_they_count() -> None:
    codes = np.array([0, 0xA, 0xFF00, 0xFFFFFFFF, 0x10], np.uint32)
    counts = np.array([2, 1, 3, 200, 2], np.uint16)
    texts = term_texts(RowBlock(codes, counts, np.array([4, 0, 1]), np.zeros(3, np.float32)))
    assert Counter(texts[0].split()) == {"0": 1, "a": 1, "ff00": 2, "ffffffff": 40}
    assert texts[1:] == ["", "10 "]
