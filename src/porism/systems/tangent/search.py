"""Tangent-S over the trees of a collection: candidates by symbol pairs, alignment, and the published regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.formula.binary import Trees
from porism.formula.tree import Node
from porism.systems.tangent.alignment import align
from porism.systems.tangent.pairs import PairIndex, best_trees, pair_codes
from porism.systems.tangent.trees import CollectionTrees, TreeSet, one_tree

# Linear regression on judgments of NTCIR-12, as published: the constant, then similarity, precision and recall of layout and operator trees.
CONSTANT = 0.2930
WEIGHTS = (0.0861, -0.1694, 1.8469, 0.9657, -0.0153, -0.3301)
FEATURES = (
    "similarity of layout trees",
    "precision of layout trees",
    "recall of layout trees",
    "similarity of operator trees",
    "precision of operator trees",
    "recall of operator trees",
)
CANDIDATES = 2000  # trees of each kind that are aligned (1000 for Task 1)


class Vectors(NamedTuple):
    """Candidates by their positions in the collection, each with six features; zeros for a kind of tree that was no candidate."""

    positions: npt.NDArray[np.int64]
    features: npt.NDArray[np.float64]


@dataclass(frozen=True)
class TangentSearch:
    """The trees of a collection with the posting lists of their pairs."""

    trees: CollectionTrees
    layout_pairs: PairIndex
    operator_pairs: PairIndex

    def vectors(self, query: Trees, candidates: int = CANDIDATES) -> Vectors:
        """Return the candidates for a query formula and their six features."""
        layout = _aligned(query.layout, self.trees.layout, self.layout_pairs, candidates, operators=False)
        operators = _aligned(query.operators, self.trees.operators, self.operator_pairs, candidates, operators=True)
        features = np.concatenate((layout[self.trees.layout.tree_of], operators[self.trees.operators.tree_of]), axis=1)
        positions = np.flatnonzero(~np.isnan(features).all(axis=1))
        return Vectors(positions, np.nan_to_num(features[positions]))


def _aligned(
    query: Node, trees: TreeSet, pairs: PairIndex, candidates: int, operators: bool
) -> npt.NDArray[np.float64]:
    """Return the vector of every tree; NaN for those that are not among the candidates."""
    labels = trees.labels.extended(query)
    forest = one_tree(query, labels.ids)
    codes, _ = pair_codes(forest, labels.classes.unordered, operators)
    chosen = best_trees(pairs, codes, candidates).trees
    out = np.full((trees.forest.size, 3), np.nan)
    out[chosen] = align(forest, trees.forest, chosen, labels.classes, operators)
    return out


def regression(features: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the score of each vector of six features."""
    return np.asarray(CONSTANT + features @ np.array(WEIGHTS))
