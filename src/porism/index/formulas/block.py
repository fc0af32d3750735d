"""A block: the rows of many formulas as columns. Made in worker processes, so it carries its own list of labels."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.formula.binary import unpack
from porism.index.analysis.features import Features, features_of_many
from porism.index.formulas.codes import EncodedFormulas, encode, new_vocabularies
from porism.index.schema import FORMULA_FAMILIES
from porism.index.terms.blocks import LocalRows, rows_of_documents

# Columns of a block and their types; those named *_at hold one row's end for each formula, the rest are the rows.
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


class Raw(NamedTuple):
    """A distinct formula as the collection has it."""

    visual_id: int
    expression_id: int
    latex: str
    trees: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """Columns (labels numbered in `labels`), the term rows of each family, how many path groups have each path key, and the
    codes of the expressions, which posts name by their ids."""

    columns: dict[str, npt.NDArray[Any]]
    labels: list[str]
    terms: dict[str, LocalRows]
    keys: npt.NDArray[np.uint32]
    key_counts: npt.NDArray[np.int64]
    encoded: EncodedFormulas


def features_of_trees(trees: Sequence[bytes]) -> list[Features]:
    """The features of formulas from their packed trees."""
    # Trees have no cycles: looking for some again and again would take a fifth of the time.
    gc.disable()
    try:
        return features_of_many([unpack(one) for one in trees])
    finally:
        gc.enable()


def make_block(formulas: Sequence[Raw]) -> Block:
    """Make the block of some formulas."""
    rows = features_of_trees([raw.trees for raw in formulas])
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # a new label gets the next number
    keys, counts = np.unique(np.concatenate([_path_groups(row) for row in rows]), return_counts=True)
    columns = _columns(formulas, rows, numbers)
    vocabularies = new_vocabularies()
    encoded = encode([raw.expression_id for raw in formulas], rows, vocabularies)
    terms = {
        family: rows_of_documents([getattr(row, family) for row in rows], vocabularies[family])
        for family in FORMULA_FAMILIES
    }
    return Block(columns, list(numbers), terms, keys, counts, encoded)


def _path_groups(row: Features) -> npt.NDArray[np.uint32]:
    """Return the key of each group of paths that share upper end and key."""
    above, keys = row.ways.above, row.ways.keys
    first = np.ones(len(keys), np.bool_)
    first[1:] = (above[1:] != above[:-1]) | (keys[1:] != keys[:-1])
    return keys[first]


def _columns(formulas: Sequence[Raw], rows: list[Features], numbers: Mapping[str, int]) -> dict[str, npt.NDArray[Any]]:
    latex = [raw.latex.encode("utf-8", "surrogatepass") for raw in formulas]
    layout: list[list[int]] = []
    operators: list[npt.NDArray[np.int32]] = []
    for row in rows:
        layout.append([numbers[label] for label in row.layout.labels])
        operators.append(np.array([numbers[label] for label in row.operators.labels], np.int32))
    columns: dict[str, npt.ArrayLike] = {
        "visual": [raw.visual_id for raw in formulas],
        "expression": [raw.expression_id for raw in formulas],
        "leaves": [row.ways.leaves for row in rows],
        "latex_at": np.cumsum([len(text) for text in latex]),
        "latex": np.frombuffer(b"".join(latex), np.uint8),
        "trees_at": np.cumsum([len(raw.trees) for raw in formulas]),
        "trees": np.frombuffer(b"".join(raw.trees for raw in formulas), np.uint8),
        "layout_at": np.cumsum([len(part) for part in layout]),
        "layout_label": list(chain.from_iterable(layout)),
        "layout_edge": list(chain.from_iterable(row.layout.edges for row in rows)),
        "operator_at": np.cumsum([len(part) for part in operators]),
        "operator_label": np.concatenate(operators),
        "path_at": np.cumsum([len(row.ways.keys) for row in rows]),
        "path_above": np.concatenate([row.ways.above for row in rows]),
        "path_key": np.concatenate([row.ways.keys for row in rows]),
        "path_label": np.concatenate([part[row.ways.below] for part, row in zip(operators, rows, strict=True)]),
    }
    return {name: np.asarray(values, TYPES[name]) for name, values in columns.items()}
