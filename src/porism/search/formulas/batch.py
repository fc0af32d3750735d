"""A batch of candidate formulas as packed arrays: everything that the re-ranking features read of a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.formula.canonical.forms import LEVELS, Level
from porism.search.formulas.candidates import Candidates
from porism.store.protocols import FormulaStore, PathRows, SymbolSequences

NO_LEVEL = -1


class FormulaBatch(NamedTuple):
    """Candidates in one order: row in the store, tuple score, level at which the query occurs as a sub-expression (index into LEVELS, or
    NO_LEVEL), layout trees and operator trees as symbol sequences, and paths."""

    rows: npt.NDArray[np.int64]
    tuple_scores: npt.NDArray[np.float64]
    levels: npt.NDArray[np.int8]
    layout: SymbolSequences
    operators: SymbolSequences
    paths: PathRows

    @property
    def operator_sizes(self) -> npt.NDArray[np.int64]:
        """The number of nodes of each operator tree."""
        return self.operators.ends - self.operators.starts

    def split(self, count: int) -> list[FormulaBatch]:
        """Split the candidates into batches of about equal size that share the columns."""
        bounds = np.linspace(0, len(self.rows), count + 1).astype(int).tolist()
        return [self.select(slice(a, b)) for a, b in pairwise(bounds)]

    def select(self, part: slice | npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> FormulaBatch:
        """Return some of the candidates; the columns are shared."""
        layout, operators, paths = self.layout, self.operators, self.paths
        return FormulaBatch(
            self.rows[part],
            self.tuple_scores[part],
            self.levels[part],
            layout._replace(starts=layout.starts[part], ends=layout.ends[part]),
            operators._replace(starts=operators.starts[part], ends=operators.ends[part]),
            paths._replace(starts=paths.starts[part], ends=paths.ends[part], leaves=paths.leaves[part]),
        )


def read_batch(store: FormulaStore, candidates: Candidates, containing: Mapping[int, Level]) -> FormulaBatch:
    """Read candidates from the store; `containing` has the rows in which the query occurs, all of them candidates."""
    rows = candidates.rows
    levels = np.full(len(rows), NO_LEVEL, np.int8)
    levels[np.searchsorted(rows, list(containing))] = [LEVELS.index(level) for level in containing.values()]
    found = store.fetch(rows)
    return FormulaBatch(rows, candidates.tuple_scores, levels, found.layout, found.operators, found.paths)
