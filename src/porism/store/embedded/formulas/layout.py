"""The files of a formula index. Readers and the builder share them; a reader need not import the builder."""

from __future__ import annotations

KIND = "formulas"
STATISTICS = "statistics.json"
KEY_TYPES = {"key": "<u4", "key_count": "<u4"}
# Columns and their types. Columns named *_at have one value for each formula: where its values end in the columns of the same prefix.
TYPES = {
    "visual": "<i8",
    "expression": "<i8",
    "leaves": "<i2",
    "latex_at": "<i8",
    "latex": "u1",
    "trees_at": "<i8",
    "trees": "u1",
    "layout_at": "<i8",
    "layout_label": "<i4",
    "layout_edge": "u1",
    "operator_at": "<i8",
    "operator_label": "<i4",
    "path_at": "<i8",
    "path_above": "u1",
    "path_key": "<u4",
    "path_label": "<i4",
}
