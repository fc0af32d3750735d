"""A block: many formulas as columns. Worker processes make blocks, so each block has its own list of labels."""

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
from porism.index.formulas.layout import TYPES
from porism.index.formulas.trees import compress_trees
from porism.index.schema import FORMULA_FAMILIES
from porism.index.terms.blocks import LocalRows, rows_of_documents


class StoredFormula(NamedTuple):
    """A distinct formula as the collection stores it; `trees` are packed."""

    visual_id: int
    expression_id: int
    latex: str
    trees: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """Formulas as columns. A label is its position in `labels`. `terms` are the rows of each family, `keys` and `key_counts` say how many
    path groups have each path key, and `encoded` has the term codes of the expressions, for the index of posts."""

    columns: dict[str, npt.NDArray[Any]]
    labels: list[str]
    terms: dict[str, LocalRows]
    keys: npt.NDArray[np.uint32]
    key_counts: npt.NDArray[np.int64]
    encoded: EncodedFormulas


def _features(trees: Sequence[bytes]) -> list[Features]:
    """Return the features of formulas from their packed trees."""
    # Trees have no reference cycles, and searching for some would take a fifth of the time.
    gc.disable()
    try:
        return features_of_many([unpack(packed) for packed in trees])
    finally:
        gc.enable()


def make_block(formulas: Sequence[StoredFormula]) -> Block:
    """Compute the block of formulas."""
    rows = _features([formula.trees for formula in formulas])
    label_ids: defaultdict[str, int] = defaultdict()
    label_ids.default_factory = label_ids.__len__  # a new label gets the next id
    keys, counts = np.unique(np.concatenate([_path_groups(row) for row in rows]), return_counts=True)
    columns = _columns(formulas, rows, label_ids)
    vocabularies = new_vocabularies()
    encoded = encode([formula.expression_id for formula in formulas], rows, vocabularies)
    terms = {
        family: rows_of_documents([getattr(row, family) for row in rows], vocabularies[family])
        for family in FORMULA_FAMILIES
    }
    return Block(columns, list(label_ids), terms, keys, counts, encoded)


def _path_groups(row: Features) -> npt.NDArray[np.uint32]:
    """Return the keys of path groups. A group is the paths of a formula with the same upper end and the same key."""
    above, keys = row.tree_paths.above, row.tree_paths.keys
    first = np.ones(len(keys), np.bool_)
    first[1:] = (above[1:] != above[:-1]) | (keys[1:] != keys[:-1])
    return keys[first]


def _columns(
    formulas: Sequence[StoredFormula], rows: list[Features], label_ids: Mapping[str, int]
) -> dict[str, npt.NDArray[Any]]:
    latex = [formula.latex.encode("utf-8", "surrogatepass") for formula in formulas]
    trees = [compress_trees(formula.trees) for formula in formulas]
    layout: list[list[int]] = []
    operators: list[npt.NDArray[np.int32]] = []
    for row in rows:
        layout.append([label_ids[label] for label in row.layout.labels])
        operators.append(np.array([label_ids[label] for label in row.operators.labels], np.int32))
    columns: dict[str, npt.ArrayLike] = {
        "visual": [formula.visual_id for formula in formulas],
        "expression": [formula.expression_id for formula in formulas],
        "leaves": [row.tree_paths.leaves for row in rows],
        "latex_at": np.cumsum([len(text) for text in latex]),
        "latex": np.frombuffer(b"".join(latex), np.uint8),
        "trees_at": np.cumsum([len(packed) for packed in trees]),
        "trees": np.frombuffer(b"".join(trees), np.uint8),
        "layout_at": np.cumsum([len(part) for part in layout]),
        "layout_label": list(chain.from_iterable(layout)),
        "layout_edge": list(chain.from_iterable(row.layout.edges for row in rows)),
        "operator_at": np.cumsum([len(part) for part in operators]),
        "operator_label": np.concatenate(operators),
        "path_at": np.cumsum([len(row.tree_paths.keys) for row in rows]),
        "path_above": np.concatenate([row.tree_paths.above for row in rows]),
        "path_key": np.concatenate([row.tree_paths.keys for row in rows]),
        "path_label": np.concatenate([part[row.tree_paths.below] for part, row in zip(operators, rows, strict=True)]),
    }
    return {name: np.asarray(values, TYPES[name]) for name, values in columns.items()}
