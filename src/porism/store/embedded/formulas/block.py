"""A block: many formulas as columns. Worker processes make blocks, so each block has its own list of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from porism.analysis.features import OperatorTable, operator_table
from porism.analysis.paths import PathTable
from porism.compiled import compiled
from porism.corpus.content import VisualTrees
from porism.formula.binary import unpack_operators
from porism.store.embedded.formulas.codes import EncodedFormulas, encode
from porism.store.embedded.formulas.layout import TYPES
from porism.store.embedded.formulas.local_terms import local_terms
from porism.store.embedded.formulas.packed_layouts import LayoutTable, layout_table
from porism.store.embedded.formulas.trees import compress_trees
from porism.store.embedded.terms.blocks import LocalRows, rows_of_codes


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


def make_block(formulas: Sequence[VisualTrees]) -> Block:
    """Compute the block of formulas, of which there is at least one."""
    packed = [formula.trees for formula in formulas]
    layouts = layout_table(packed)
    table = operator_table([unpack_operators(trees, with_places=False) for trees in packed])
    label_ids = {label: number for number, label in enumerate(layouts.labels)}
    keys, counts = np.unique(_path_groups(table.tree_paths), return_counts=True)
    columns = _columns(formulas, layouts, table, label_ids)
    terms = local_terms(layouts, table)
    encoded = encode([formula.expression_id for formula in formulas], table, terms)
    rows = {family: rows_of_codes(found.sizes, found.codes, found.hashes) for family, found in terms.items()}
    return Block(columns, list(label_ids), rows, keys, counts, encoded)


def _path_groups(paths: PathTable) -> npt.NDArray[np.uint32]:
    """Return the keys of path groups. A group is the paths of a formula with the same upper end and the same key."""
    first = np.ones(len(paths.keys), np.bool_)
    first[1:] = False
    for values in (paths.tree, paths.above, paths.keys):
        first[1:] |= values[1:] != values[:-1]
    return paths.keys[first]


def _columns(
    formulas: Sequence[VisualTrees], layouts: LayoutTable, table: OperatorTable, label_ids: dict[str, int]
) -> dict[str, npt.NDArray[Any]]:
    latex = [formula.latex.encode("utf-8", "surrogatepass") for formula in formulas]
    trees = [compress_trees(formula.trees) for formula in formulas]
    paths = table.tree_paths
    numbers = [label_ids.setdefault(label, len(label_ids)) for label in paths.labels]
    operators = np.array(numbers, np.int32)[paths.label_ids]
    columns: dict[str, npt.ArrayLike] = {
        "visual": [formula.visual_id for formula in formulas],
        "expression": [formula.expression_id for formula in formulas],
        "leaves": paths.leaves,
        "latex_at": np.cumsum([len(text) for text in latex]),
        "latex": np.frombuffer(b"".join(latex), np.uint8),
        "trees_at": np.cumsum([len(packed) for packed in trees]),
        "trees": np.frombuffer(b"".join(trees), np.uint8),
        "layout_at": layouts.ends,
        "layout_label": layouts.label_ids,
        "layout_edge": layouts.edges,
        "operator_at": np.cumsum([len(flat.labels) for flat in table.operators]),
        "operator_label": operators,
        "path_at": paths.path_ends,
        "path_above": paths.above,
        "path_key": paths.keys,
        "path_label": operators[paths.node_starts[paths.tree] + paths.below],
    }
    return {name: np.asarray(values, TYPES[name]) for name, values in columns.items()}


def formulas_with_label(label_ids: npt.NDArray[np.int32], block: Block, tree: str) -> dict[int, int]:
    """Return for each label id how many formulas of the block have it in this tree (`layout` or `operator`)."""
    counts = np.zeros(len(label_ids), np.int64)
    _count_formulas(block.columns[f"{tree}_at"], block.columns[f"{tree}_label"], counts)
    present = np.flatnonzero(counts)
    return dict(zip(label_ids[present].tolist(), counts[present].tolist(), strict=True))


@compiled
def _count_formulas(ends: Any, labels: Any, counts: Any) -> None:
    """Count the formulas with each label, given the labels of all nodes and where the nodes of each formula end."""
    last = np.full(len(counts), -1, np.int64)
    start = 0
    for formula in range(len(ends)):
        for at in range(start, ends[formula]):
            label = labels[at]
            if last[label] != formula:
                last[label] = formula
                counts[label] += 1
        start = ends[formula]
