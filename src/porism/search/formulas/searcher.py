"""Formula search: candidates from the postings, re-ranked by what their trees share with the query."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.formula.canonical.forms import LEVELS, Level
from porism.index.analysis.classes import kind
from porism.index.formulas.store import FormulaStore
from porism.records import Explanation
from porism.search.formulas.alignment import Rows, similarities
from porism.search.formulas.candidates import Candidates, candidates
from porism.search.formulas.diverse import rounds
from porism.search.formulas.occurrence import holders, likely, matching, same
from porism.search.formulas.query import FormulaQuery, prepare
from porism.search.formulas.structure import common_parts

Mode = Literal["similar", "exact", "subformula", "diverse"]
MODES: tuple[Mode, ...] = ("similar", "exact", "subformula", "diverse")
Scores = npt.NDArray[np.float64]
# The last part is given to the same formula in another spelling or order, and where the query must occur: there one for each
# level of strictness, so that it decides before the others.
PARTS = ("tuples", "layout", "operators", "structure", "occurrence")
WEIGHTS: Scores = np.array((0.25, 0.25, 0.25, 0.25, 1.0))
SAME, RENAMED, INSIDE = 0.4, 0.1, 0.1
EDGE_COST = 1.0
DEPTH = 1000  # candidates by tuples, even where fewer hits are asked for
MOST_HOLDERS = 10_000  # formulas with the query inside them that a search for them ranks, at each level
THREADS = 2


class FormulaHit(NamedTuple):
    """A distinct formula: its id, its score, and the share of each part of the score (in the order of PARTS)."""

    visual_id: int
    score: float
    parts: tuple[float, ...] = ()


class Ranked(NamedTuple):
    """Rows of the store with the parts of their scores (one column each)."""

    rows: npt.NDArray[np.int64]
    parts: Scores

    def best(self) -> npt.NDArray[np.int64]:
        """Where the rows stand, best first; equal scores by row, which is by id."""
        return np.lexsort((self.rows, -self.parts.sum(axis=1)))

    def keep(self, where: npt.NDArray[np.bool_]) -> Ranked:
        """Some of the rows."""
        return Ranked(self.rows[where], self.parts[where])


class Nearest(NamedTuple):
    """Distinct formulas, best first: their visual ids and their scores."""

    visual_ids: npt.NDArray[np.int64]
    scores: Scores


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
        """The k best formulas, best first; equal scores by id. Any string is a query.

        `exact`: the same formula up to spelling and order; `subformula`: formulas in which the query occurs, the strictest way
        first; `diverse`: as `similar`, but of formulas that differ by names and numbers only, one at a time. Wildcards bind in
        all modes.
        """
        return self.page(latex, 0, k, mode)[0]

    def page(self, latex: str, first: int, k: int, mode: Mode = "similar") -> tuple[list[FormulaHit], int]:
        """As `search`, but only k hits from number `first` on, and how many there are in all (DEPTH at most, where fewer are asked for)."""
        if mode not in MODES:
            raise PorismError(f"no mode {mode}", fix=f"one of {', '.join(MODES)}")
        if not self.store.formulas:
            return [], 0
        query = prepare(latex, self.store)
        depth = max(first + k, DEPTH)
        ranked = self.rank(query, depth, mode)
        order = ranked.best()
        if mode == "diverse":
            turns = rounds(ranked.rows[order].tolist(), self._operators)
            order = order[np.argsort(turns, kind="stable")]
            hits = _falling(self._hits(ranked, order[: first + k]))[first:]
        else:
            hits = self._hits(ranked, order[first : first + k])
        return hits, min(depth, len(order))

    def nearest(self, latex: str, k: int) -> Nearest:
        """The k most similar formulas as columns, with fewer candidates than `search` looks at."""
        if not self.store.formulas:
            return Nearest(np.empty(0, np.int64), np.empty(0))
        ranked = self.rank(prepare(latex, self.store), k)
        order = ranked.best()[:k]
        return Nearest(
            self.store.columns["visual"][ranked.rows[order]].astype(np.int64), ranked.parts[order].sum(axis=1)
        )

    def rank(self, query: FormulaQuery, depth: int, mode: Mode = "similar") -> Ranked:
        """All candidates with the parts of their scores; `depth` of them are sought by tuples."""
        known = holders(query, self.store, MOST_HOLDERS if mode == "subformula" else depth)
        more = likely(query, self.store) if mode == "subformula" else []
        found = candidates(query, self.store, depth, [*known, *more], self._pool)
        tasks = [self._pool.submit(self._compare, query, rows) for rows in np.array_split(found.rows, THREADS)]
        parts = np.concatenate([task.result() for task in tasks])
        parts[:, 0] = found.tuples
        parts[:, -1] = self._sameness(query, found, parts[:, 2], known)
        ranked = Ranked(found.rows, parts * WEIGHTS)
        if mode == "exact" and not query.has_wildcards:
            return ranked.keep(np.array([same(query, self.store, row) for row in ranked.rows.tolist()], np.bool_))
        if mode == "subformula" or query.has_wildcards:
            return self._occurring(query, ranked, known, more, mode)
        return ranked

    def _sameness(self, query: FormulaQuery, found: Candidates, alike: Scores, known: Mapping[int, Level]) -> Scores:
        """What the same formula gets in another spelling or under other names, and a formula that has it inside."""
        ends = self.store.columns["operator_at"]
        sizes = ends[found.rows] - np.where(found.rows > 0, ends[found.rows - 1], 0)
        renamed = _among(found.rows, known, ("renamed",)) & (sizes == len(query.operators.labels))
        given = np.where(_among(found.rows, known, LEVELS[:-1]), INSIDE, np.where(renamed, RENAMED, 0.0))
        given[alike > 1 - 1e-6] = SAME
        return given

    def _occurring(
        self, query: FormulaQuery, ranked: Ranked, known: Mapping[int, Level], more: list[int], mode: Mode
    ) -> Ranked:
        """Raise the rows in which the query occurs; unless only similar ones were asked for, drop the others."""
        unsure = [row for row in dict.fromkeys((*more, *ranked.rows[ranked.best()].tolist())) if row not in known]
        levels = {**matching(query, self.store, unsure), **known}
        steps = len(LEVELS)
        for at, row in enumerate(ranked.rows.tolist()):
            if row in levels:
                ranked.parts[at, -1] = steps - LEVELS.index(levels[row])
        return ranked if mode in ("similar", "diverse") else ranked.keep(ranked.parts[:, -1] > 0)

    def _compare(self, query: FormulaQuery, rows: npt.NDArray[np.int64]) -> Scores:
        parts = np.zeros((len(rows), len(PARTS)))
        parts[:, 1] = similarities(query.layout, self._layout, rows, EDGE_COST)
        parts[:, 2] = similarities(query.operators, self._operators, rows, 0.0)
        parts[:, 3] = common_parts(query.sectors, query.features.ways.leaves, self.store, rows).scores
        return parts

    def _hits(self, ranked: Ranked, order: npt.NDArray[np.int64]) -> list[FormulaHit]:
        parts = ranked.parts[order]
        ids = self.store.columns["visual"][ranked.rows[order]]
        shares = zip(*parts.T.tolist(), strict=True)
        return list(map(FormulaHit, ids.tolist(), parts.sum(axis=1).tolist(), shares))

    def explain(self, latex: str, visual_id: int, mode: Mode = "similar") -> Explanation:
        """Why a formula has the score it has for a query: parts that sum to it, matched places on both sides, renamings."""
        from porism.search.formulas.explain import explain

        query = prepare(latex, self.store)
        row = self.store.row(visual_id)
        ranked = self.rank(query, DEPTH, mode)
        at = int(np.searchsorted(ranked.rows, row))
        if at == len(ranked.rows) or ranked.rows[at] != row:
            raise PorismError(
                f"formula {visual_id} is not among those found for this query", fix="porism formulas lists them"
            )
        return explain(query, self.store, row, dict(zip(PARTS, ranked.parts[at].tolist(), strict=True)))


def _among(rows: npt.NDArray[np.int64], known: Mapping[int, Level], levels: tuple[Level, ...]) -> npt.NDArray[np.bool_]:
    """Which rows are known at one of these levels."""
    return np.isin(rows, np.array([row for row, level in known.items() if level in levels], np.int64))


def _falling(hits: list[FormulaHit]) -> list[FormulaHit]:
    """The order that was chosen, kept by everyone who sorts by score: no score is above the one before it."""
    lowest = np.minimum.accumulate([hit.score for hit in hits]) if hits else ()
    return [FormulaHit(hit.visual_id, float(score), hit.parts) for hit, score in zip(hits, lowest, strict=True)]
