"""Read the formula index: mapped columns, weights of labels, and weights of path keys."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.formula.binary import unpack
from porism.formula.tree import Node
from porism.index.formulas.block import TYPES
from porism.index.formulas.build import KEY_TYPES, KIND, STATISTICS
from porism.index.formulas.codes import FORMS, ExpressionParts
from porism.index.manifest import Manifest, read_manifest
from porism.index.schema import FORMULA_FAMILIES, View
from porism.index.storage.columns import read_columns
from porism.index.terms.embedded import EmbeddedTermIndex
from porism.index.terms.scoring import NO_UNITS, UnitMap

WHOLE = View.of("formula", {"formula": 1.0})  # a formula has a single field
# The weight of a label runs from this, if every formula has it, to this + 1, if one formula has it.
BASE_WEIGHT = 0.5


class FormulaStore:
    """An opened formula index."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self.directory = directory
        self.manifest = manifest
        self.columns = read_columns(directory / "rows", TYPES)
        statistics = json.loads((directory / STATISTICS).read_text("utf-8"))
        self.formulas: int = statistics["formulas"]
        units = {"formula": UnitMap(NO_UNITS, True, self.formulas)}
        self.terms = EmbeddedTermIndex(directory / "terms", FORMULA_FAMILIES, ("formula",), units, "formula")
        self.labels = {label: at for at, (label, _, _) in enumerate(statistics["labels"])}
        self.layout_weights = self._weights([row[1] for row in statistics["labels"]])
        self.operator_weights = self._weights([row[2] for row in statistics["labels"]])
        self.parts = ExpressionParts(directory / FORMS)
        keys = read_columns(directory / "keys", KEY_TYPES)
        self._keys, self._key_counts = keys["key"], keys["key_count"]
        self._path_group_count = int(self._key_counts.sum())

    @classmethod
    def open(cls, directory: str | Path, *, collection: str | None = None) -> FormulaStore:
        """Open an index that `build_formula_index` made, if `collection` is given only that of the collection with this digest."""
        place = Path(directory)
        return cls(place, read_manifest(place, KIND, collection=collection))

    def _weights(self, formulas_with_label: list[int]) -> npt.NDArray[np.float64]:
        counts = np.array(formulas_with_label, np.float64)
        return BASE_WEIGHT + np.log((self.formulas + 1) / (counts + 1)) / math.log(self.formulas + 2)

    @property
    def unseen_label_weight(self) -> float:
        """The weight of a label that no formula has."""
        return BASE_WEIGHT + math.log(self.formulas + 1) / math.log(self.formulas + 2)

    def inverse_path_frequency(self, keys: npt.NDArray[np.uint32]) -> npt.NDArray[np.float64]:
        """Return ln(all path groups / path groups with this key) for each key. An unseen key counts as seen once."""
        if not len(self._keys):
            return np.ones(len(keys))
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        counts = np.where(self._keys[at] == keys, self._key_counts[at], 1)
        return np.log(self._path_group_count / counts)

    def row(self, visual_id: int) -> int:
        """Return the row of a visual id."""
        at = int(np.searchsorted(self.columns["visual"], visual_id))
        if at == self.formulas or self.columns["visual"][at] != visual_id:
            raise PorismError(
                f"no formula with visual id {visual_id}", where=str(self.directory), fix="porism formulas shows ids"
            )
        return at

    def latex(self, row: int) -> str:
        """Return the LaTeX of a row."""
        start, end = self.span("latex", row)
        return bytes(self.columns["latex"][start:end]).decode("utf-8", "surrogatepass")

    def trees(self, row: int) -> tuple[Node, Node]:
        """Return the layout tree and the operator tree of a row."""
        start, end = self.span("trees", row)
        return unpack(bytes(self.columns["trees"][start:end]))

    def span(self, name: str, row: int) -> tuple[int, int]:
        """Return where the values of a row start and end in the columns of this name."""
        ends: npt.NDArray[Any] = self.columns[f"{name}_at"]
        return (int(ends[row - 1]) if row else 0), int(ends[row])
