"""A batch of candidate formulas as packed arrays: everything that the re-ranking features read of a candidate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.formula.canonical.forms import LEVELS
from porism.search.formulas.candidates import FoundFormulas
from porism.store.records import FormulaRecords, Formulas, PathRows, SymbolSequences

NO_LEVEL = -1


class FormulaBatch(NamedTuple):
    """Candidates in one order: number in the store, visual id, tuple score, level at which the query occurs as a
    sub-expression (index into LEVELS, or NO_LEVEL), layout trees and operator trees as symbol sequences, and paths."""

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


def make_batches(queries: Sequence[FoundFormulas], read: Formulas) -> list[FormulaBatch]:
    """Return the candidates of several queries, which were read from the store one after another, as a batch for each
    query."""
    scores = np.concatenate([found.candidates.tuple_scores for found in queries])
    whole = batch_of(read, scores, np.concatenate([_levels(found) for found in queries]))
    ends = np.cumsum([len(found.candidates.numbers) for found in queries]).tolist()
    return [whole.select(slice(start, end)) for start, end in pairwise((0, *ends))]


def _levels(found: FoundFormulas) -> npt.NDArray[np.int8]:
    """Return the level at which the query occurs in each candidate."""
    numbers = found.candidates.numbers
    levels = np.full(len(numbers), NO_LEVEL, np.int8)
    levels[np.searchsorted(numbers, list(found.containing))] = list(map(LEVELS.index, found.containing.values()))
    return levels


def batch_of(found: Formulas, tuple_scores: npt.NDArray[np.float64], levels: npt.NDArray[np.int8]) -> FormulaBatch:
    """Return formulas with their tuple scores and levels."""
    return FormulaBatch(
        found.numbers, found.visual_ids, tuple_scores, levels, found.layout, found.operators, found.paths, found.records
    )
