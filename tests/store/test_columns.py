"""Columns are read as they were written."""

from __future__ import annotations

from pathlib import Path

from porism.store.embedded.storage.columns import ColumnWriter, read_columns

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
