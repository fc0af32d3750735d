"""The second step of TangentCFT2ED: candidates ordered by tree edit distance, 1 / (distance + 1) for layout and operator trees."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import DEPTH, Ranking, Reranker
from porism.systems.declared.context import SystemContext
from porism.systems.dprl.candidates import CandidateTrees, open_candidates
from porism.systems.dprl.edit_distance import Costs
from porism.systems.tangent.query import reads_official, searched_formula, trees_of


def tree_edit(
    context: SystemContext,
    share: float = 0.95,
    layout_costs: tuple[int, ...] = (9, 1, 8),
    operator_costs: tuple[int, ...] = (8, 1, 5),
    depth: int = DEPTH,
) -> Reranker:
    """Re-rank formulas by tree edit distance. `share` is the weight of layout trees; costs are those of delete, insert and rename."""
    if len(layout_costs) != 3 or len(operator_costs) != 3:
        raise PorismError("costs are three numbers", fix="give delete, insert and rename, as 9,1,8")
    costs = (Costs(*layout_costs), Costs(*operator_costs))
    return EditReranker(open_candidates(context), costs, share, depth, reads_official(context.content))


class EditReranker(Reranker):
    """Orders formulas by their edit distance to the query formula; of equal ones the order of before is kept."""

    def __init__(
        self, candidates: CandidateTrees, costs: tuple[Costs, Costs], share: float, depth: int, official: bool
    ) -> None:
        self._candidates, self._costs, self._share, self._official = candidates, costs, share, official
        self.depth = depth

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        """Return the formulas with the smallest distance first."""
        layout, operators = self._similarities(query, ranking.ids)
        scores = self._share * layout + (1.0 - self._share) * operators
        order = np.argsort(-scores, kind="stable")
        return Ranking(ranking.ids[order], scores[order])

    def _similarities(
        self, query: ReadQuery, visuals: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the similarities of layout trees and operator trees; 0 without a tree."""
        formula = searched_formula(query, self._official)
        if formula is None or not len(visuals):
            return np.zeros(len(visuals)), np.zeros(len(visuals))
        trees, positions = trees_of(formula), self._candidates.positions(visuals)
        layout = self._candidates.layout_query(trees).distances(positions, self._costs[:1])
        operators = self._candidates.operator_query(trees).distances(positions, self._costs[1:])
        return _similarity(layout.values[:, 0]), _similarity(operators.values[:, 0])

    def explain(self, query: ReadQuery, id: int, found: Callable[[], Ranking]) -> Explanation:
        """Return the parts of layout and operator trees."""
        layout, operators = (float(values[0]) for values in self._similarities(query, np.array([id])))
        parts = (
            Explanation(self._share * layout, f"layout trees: {layout:.4f}"),
            Explanation((1.0 - self._share) * operators, f"operator trees: {operators:.4f}"),
        )
        return Explanation(sum(part.value for part in parts), "1 / (tree edit distance + 1)", parts)


def _similarity(distances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.nan_to_num(1.0 / (distances + 1.0), nan=0.0)
