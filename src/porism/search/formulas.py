"""Formula search: candidates from the postings, re-ranked by what their trees share with the query."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.index.classes import kind
from porism.index.formula_store import FormulaStore
from porism.search.alignment import Rows, similarities
from porism.search.candidates import candidates
from porism.search.formula_query import FormulaQuery, prepare
from porism.search.structure import common_parts

Mode = Literal["similar", "exact", "subformula", "diverse"]
Scores = npt.NDArray[np.float64]
PARTS = ("tuples", "layout", "operators", "structure")
WEIGHTS: Scores = np.array((0.25, 0.25, 0.25, 0.25))
EDGE_COST = 1.0
THREADS = 2


@dataclass(frozen=True, slots=True)
class FormulaHit:
    """A distinct formula: its id, its score, and the share of each part of the score (in the order of PARTS)."""

    visual_id: int
    score: float
    parts: tuple[float, ...] = ()


class Ranked(NamedTuple):
    """Rows of the store with their parts (one column each), in the order of rows."""

    rows: npt.NDArray[np.int64]
    parts: Scores


class FormulaSearcher:
    """Searches an opened formula index; may be used by several threads."""

    def __init__(self, store: FormulaStore) -> None:
        self.store = store
        columns = store.columns
        kinds = np.array([kind(label) for label in store.labels], np.uint8)
        self._layout = Rows(
            columns["layout_at"],
            columns["layout_label"],
            columns["layout_edge"],
            kinds,
            store.layout_weights.astype(np.float32),
        )
        self._operators = Rows(
            columns["operator_at"],
            columns["operator_label"],
            columns["layout_edge"][:0],
            kinds,
            store.operator_weights.astype(np.float32),
        )
        self._pool = ThreadPoolExecutor(THREADS)

    @classmethod
    def open(cls, directory: str | Path, *, collection: str | None = None) -> FormulaSearcher:
        """Open a formula index (of the collection with this digest, where one is given)."""
        return cls(FormulaStore.open(directory, collection=collection))

    def search(self, latex: str, k: int = 1000, mode: Mode = "similar") -> list[FormulaHit]:
        """The k best formulas, best first; equal scores by id."""
        if not self.store.formulas:
            return []
        query = prepare(latex, self.store)
        return self._hits(self.rank(query, k), k)

    def rank(self, query: FormulaQuery, k: int) -> Ranked:
        """All candidates with the parts of their scores."""
        found = candidates(query, self.store, k)
        tasks = [self._pool.submit(self._compare, query, rows) for rows in np.array_split(found.rows, THREADS)]
        parts = np.concatenate([task.result() for task in tasks])
        parts[:, 0] = found.tuples
        return Ranked(found.rows, parts * WEIGHTS)

    def _compare(self, query: FormulaQuery, rows: npt.NDArray[np.int64]) -> Scores:
        parts = np.zeros((len(rows), len(PARTS)))
        parts[:, 1] = similarities(query.layout, self._layout, rows, EDGE_COST)
        parts[:, 2] = similarities(query.operators, self._operators, rows, 0.0)
        parts[:, 3] = common_parts(query.sectors, query.features.ways.leaves, self.store, rows).scores
        return parts

    def _hits(self, ranked: Ranked, k: int) -> list[FormulaHit]:
        scores = ranked.parts.sum(axis=1)
        ids = self.store.columns["visual"][ranked.rows]
        order = np.lexsort((ids, -scores))[:k]
        rows = zip(ids[order].tolist(), scores[order].tolist(), ranked.parts[order].tolist(), strict=True)
        return [FormulaHit(number, score, tuple(parts)) for number, score, parts in rows]
