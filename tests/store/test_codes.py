from __future__ import annotations

from pathlib import Path

import numpy as np

from porism.store.embedded.formulas.codes import FORM_TYPES, ITEM_TYPES, _append_forms
from porism.store.embedded.storage.columns import ColumnWriter, read_columns


def test_an_expression_with_two_visual_ids_shifts_no_other(tmp_path: Path) -> None:
    items = {name: np.zeros(0, np.int64) for name in ITEM_TYPES}
    items["expression"] = np.array([1, 2, 1, 3])
    items["form"] = np.array([11, 12, 11, 13], np.uint64)
    items["parts_end"] = np.array([2, 3, 5, 6])
    items["parts_code"] = np.array([5, 6, 7, 5, 6, 8], np.uint32)
    with ColumnWriter(tmp_path / "forms", FORM_TYPES) as writer:
        _append_forms(writer, items, 1)
    columns = read_columns(tmp_path / "forms", FORM_TYPES)
    assert [part.tolist() for part in np.split(columns["parts"], columns["parts_end"][:-1])] == [[5, 6], [7], [8]]
