"""Rows are read as they were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from porism.index.storage.columns import ArrayWriter, read_array
from porism.index.storage.rows import RowBlock, Rows, RowsWriter, joined

ONE = RowBlock(np.array([3, 9], np.uint32), np.array([1, 4], np.uint16), np.array([2, 0]), np.array([2.5, 0], "f4"))
TWO = RowBlock(np.array([7], np.uint32), np.array([2], np.uint16), np.array([1]), np.array([1], "f4"))


def test_rows_come_back(tmp_path: Path) -> None:
    with RowsWriter(tmp_path, "words") as writer:
        writer.add(ONE)
        writer.add(TWO)
    rows = Rows(tmp_path, "words")
    assert len(rows) == 3
    assert [[part.tolist() for part in rows.row(number)] for number in range(3)] == [
        [[3, 9], [0.5, 2.0]],
        [[], []],
        [[7], [1.0]],
    ]
    assert rows.mean == np.float32(3.5 / 3)
    assert [part.tolist() for part in rows.block(0, 3)] == [part.tolist() for part in joined([ONE, TWO])]


def test_no_rows(tmp_path: Path) -> None:
    with RowsWriter(tmp_path, "words"):
        pass
    rows = Rows(tmp_path, "words")
    assert (len(rows), rows.mean) == (0, 0.0)


def test_an_array_written_in_parts_is_the_file_that_the_library_writes(tmp_path: Path) -> None:
    whole = np.arange(36, dtype=np.int64).reshape(-1, 4)
    np.save(tmp_path / "whole.npy", whole)
    with ArrayWriter(tmp_path / "parts.npy", "<i8", 4) as writer:
        for start in range(0, 9, 2):
            writer.append(whole[start : start + 2])
    assert (tmp_path / "parts.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()
    assert read_array(tmp_path / "parts.npy").tolist() == whole.tolist()
