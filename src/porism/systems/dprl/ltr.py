"""Learning to rank of DPRL: a linear model (SVM-rank) over 22 features of Tangent-S candidates.

The weights are those of the published model files; each column was identified by its values. Features are not scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from porism.formula.binary import Trees
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import DEPTH, Ranking, Reranker
from porism.systems.declared.context import SystemContext
from porism.systems.dprl.candidates import CandidateTrees, open_candidates
from porism.systems.dprl.cft import VectorSearch
from porism.systems.dprl.embedding import Training
from porism.systems.dprl.words import Representation
from porism.systems.tangent.alignment import align
from porism.systems.tangent.query import reads_official, searched_formula, trees_of
from porism.systems.tangent.trees import TreeSet, one_tree

Model = Literal["45 topics", "29 topics"]
Features = dict[str, npt.NDArray[np.float64]]
# The representation of each embedding feature is not published; chosen by the rank correlation of our cosines with the stored values.
EMBEDDINGS: Mapping[str, Representation] = {
    "embedding_100": "opt",
    "embedding_102": "slt",
    "embedding_104": "slt-type",
    "embedding_105": "opt-type",
}
MODELS: Mapping[Model, Mapping[str, float]] = {
    "45 topics": {
        "mss_slt": 1.337,
        "precision_slt": 0.191,
        "recall_slt": 1.368,
        "mss_opt": 0.010,
        "precision_opt": 0.564,
        "recall_opt": 1.343,
        "tuple_slt": 0.338,
        "tuple_slt_type": 0.088,
        "tuple_opt": 0.394,
        "tuple_opt_type": -0.161,
        "ted_slt": 0.222,
        "ted_slt_weighted": 0.790,
        "ted_slt_type": 0.155,
        "ted_slt_weighted_type": 0.512,
        "ted_opt": 0.134,
        "ted_opt_weighted": 0.562,
        "ted_opt_type": -0.001,
        "ted_opt_weighted_type": 0.314,
        "embedding_100": 0.745,
        "embedding_102": 0.701,
        "embedding_104": -0.037,
        "embedding_105": -0.624,
    },
    "29 topics": {
        "mss_slt": 1.649,
        "precision_slt": 0.246,
        "recall_slt": 1.108,
        "mss_opt": -0.138,
        "precision_opt": 0.311,
        "recall_opt": 0.774,
        "tuple_slt": 0.141,
        "tuple_slt_type": 0.565,
        "tuple_opt": 0.636,
        "tuple_opt_type": -0.203,
        "ted_slt": 0.219,
        "ted_slt_weighted": 0.602,
        "ted_slt_type": 0.139,
        "ted_slt_weighted_type": 0.283,
        "ted_opt": 0.374,
        "ted_opt_weighted": 0.729,
        "ted_opt_type": 0.212,
        "ted_opt_weighted_type": 0.404,
        "embedding_100": 1.389,
        "embedding_102": 1.218,
        "embedding_104": 0.380,
        "embedding_105": -0.250,
    },
}


def svm_rank(context: SystemContext, model: Model = "45 topics", depth: int = DEPTH) -> Reranker:
    """Re-rank formulas by the linear model. `model` names the topics of ARQMath-1 on which it was trained."""
    vectors = VectorSearch(context, tuple(EMBEDDINGS.values()), Training())
    return SvmRank(open_candidates(context), vectors, MODELS[model], depth, reads_official(context.content))


class SvmRank(Reranker):
    """Orders formulas by a linear model over their features."""

    def __init__(
        self,
        candidates: CandidateTrees,
        vectors: VectorSearch,
        weights: Mapping[str, float],
        depth: int,
        official: bool,
    ) -> None:
        self._candidates, self._vectors, self._weights, self._official = candidates, vectors, weights, official
        self.depth = depth
        self.notes = (f"embedding features: {vectors.note}",)

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        """Return the formulas ordered by the model; of equal ones the order of before is kept."""
        formula = searched_formula(query, self._official)
        if formula is None or not len(ranking):
            return ranking
        features = self.features(trees_of(formula), ranking.ids)
        scores = sum((weight * features[name] for name, weight in self._weights.items()), np.zeros(len(ranking)))
        order = np.argsort(-scores, kind="stable")
        return Ranking(ranking.ids[order], scores[order])

    def features(self, query: Trees, visuals: npt.NDArray[np.int64]) -> Features:
        """Return the features of formulas by their visual ids."""
        positions = self._candidates.positions(visuals)
        found: Features = {}
        trees = self._candidates.trees
        for kind, operators in (("slt", False), ("opt", True)):
            tree_set = trees.operators if operators else trees.layout
            found.update(_alignment(query, tree_set, positions, kind, operators))
            tree = self._candidates.operator_query(query) if operators else self._candidates.layout_query(query)
            for types, suffix in ((False, ""), (True, "_type")):
                edits = tree.edits(positions, types)
                found[f"ted_{kind}{suffix}"], found[f"ted_{kind}_weighted{suffix}"] = edits.plain, edits.weighted
                found[f"tuple_{kind}{suffix}"] = tree.tuples(positions, types)
        for name, representation in EMBEDDINGS.items():
            found[name] = self._vectors.cosines(query, representation)[positions]
        return found

    def explain(self, query: ReadQuery, id: int, found: Callable[[], Ranking]) -> Explanation:
        """Return each feature times its weight."""
        formula = searched_formula(query, self._official)
        if formula is None:
            return Explanation(0.0, "the query has no formula")
        features = self.features(trees_of(formula), np.array([id]))
        parts = tuple(
            Explanation(weight * float(features[name][0]), f"{name}: {features[name][0]:.3f} x {weight}")
            for name, weight in self._weights.items()
        )
        return Explanation(sum(part.value for part in parts), "linear model (SVM-rank)", parts)


def _alignment(query: Trees, trees: TreeSet, positions: npt.NDArray[np.int64], kind: str, operators: bool) -> Features:
    """Return the three features of Tangent-S for one kind of tree."""
    root = query.operators if operators else query.layout
    labels = trees.labels.extended(root)
    numbers = np.asarray(trees.tree_of[positions], np.int64)
    vectors = align(one_tree(root, labels.ids), trees.forest, numbers, labels.classes, operators)
    return {f"{name}_{kind}": vectors[:, at] for at, name in enumerate(("mss", "precision", "recall"))}
