"""A batch of candidate formulas as packed arrays: everything that the re-ranking features read of a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.formula.canonical.forms import LEVELS, Level
from porism.search.formulas.candidates import Candidates
from porism.store.protocols import FormulaRecords, Formulas, PathRows, SymbolSequences

NO_LEVEL = -1


class FormulaBatch(NamedTuple):
    """Candidates in one order: number in the store, visual id, tuple score, level at which the query occurs as a sub-expression (index into LEVELS, or
    NO_LEVEL), layout trees and operator trees as symbol sequences, and paths."""

    numbers: npt.NDArray[np.int64]
    visual_ids: npt.NDArray[np.int64]
    tuple_scores: npt.NDArray[np.float64]
    levels: npt.NDArray[np.int8]
    layout: SymbolSequences
    operators: SymbolSequences
    paths: PathRows
    records: FormulaRecords

    @property
    def operator_sizes(self) -> npt.NDArray[np.int64]:
        """The number of nodes of each operator tree."""
        return self.operators.ends - self.operators.starts

    def split(self, count: int) -> list[FormulaBatch]:
        """Split the candidates into batches of about equal size that share the columns."""
        bounds = np.linspace(0, len(self.numbers), count + 1).astype(int).tolist()
        return [self.select(slice(a, b)) for a, b in pairwise(bounds)]

    def select(self, part: slice | npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> FormulaBatch:
        """Return some of the candidates; the columns are shared."""
        layout, operators, paths = self.layout, self.operators, self.paths
        return FormulaBatch(
            self.numbers[part],
            self.visual_ids[part],
            self.tuple_scores[part],
            self.levels[part],
            layout._replace(starts=layout.starts[part], ends=layout.ends[part]),
            operators._replace(starts=operators.starts[part], ends=operators.ends[part]),
            paths._replace(starts=paths.starts[part], ends=paths.ends[part], leaves=paths.leaves[part]),
            self.records,
        )


def make_batch(candidates: Candidates, containing: Mapping[int, Level], found: Formulas) -> FormulaBatch:
    """Return candidates as they were read from the store; `containing` has the numbers of those in which the query occurs."""
    levels = np.full(len(candidates.numbers), NO_LEVEL, np.int8)
    places = np.searchsorted(candidates.numbers, list(containing))
    levels[places] = [LEVELS.index(level) for level in containing.values()]
    return batch_of(found, candidates.tuple_scores, levels)


def batch_of(found: Formulas, tuple_scores: npt.NDArray[np.float64], levels: npt.NDArray[np.int8]) -> FormulaBatch:
    """Return formulas with their tuple scores and levels."""
    return FormulaBatch(
        found.numbers, found.visual_ids, tuple_scores, levels, found.layout, found.operators, found.paths, found.records
    )
