"""Re-rankers of formulas: the features of candidates, tree edit distance, and a linear SVM over both."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.formula.binary import Trees
from porism.formula.tree import Node
from porism.progress import Progress
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import DEPTH, Ranking, Reranker
from porism.systems.declared.context import SystemContext
from porism.systems.dprl.cft import Training, VectorSearch
from porism.systems.dprl.edit_distance import Costs, Distances, EditFeatures, edit_distances, edit_features, symbol_ids
from porism.systems.dprl.layout import with_plain_brackets
from porism.systems.dprl.tuples import Representation, tuple_features
from porism.systems.tangent.alignment import align
from porism.systems.tangent.forest import Forest, QueryLabels
from porism.systems.tangent.retriever import TREE_CODE, open_trees
from porism.systems.tangent.trees import (
    CollectionTrees,
    TreeSet,
    one_tree,
    read_set,
    reads_official,
    searched_formula,
    trees_of,
    write_layout,
)


class QueryTree(NamedTuple):
    """A query tree with the trees of the candidates: `trees` by position, and labels that cover both."""

    forest: Forest
    trees: TreeSet
    labels: QueryLabels
    operators: bool

    def edits(self, positions: npt.NDArray[np.int64], types: bool) -> EditFeatures:
        """Return the edit-distance features of candidates."""
        symbols = symbol_ids(self.labels, types, braces=False)
        return edit_features(self.forest, self.trees.forest, self._numbers(positions), symbols, self.operators)

    def distances(self, positions: npt.NDArray[np.int64], costs: Sequence[Costs]) -> Distances:
        """Return the edit distances of candidates."""
        symbols = symbol_ids(self.labels, types=False, braces=False)
        return edit_distances(self.forest, self.trees.forest, self._numbers(positions), symbols, self.operators, costs)

    def tuples(self, positions: npt.NDArray[np.int64], types: bool) -> npt.NDArray[np.float64]:
        """Return the tuple features of candidates."""
        symbols = symbol_ids(self.labels, types)
        unordered = self.labels.classes.unordered
        return tuple_features(
            self.forest, self.trees.forest, self._numbers(positions), symbols, unordered, self.operators
        )

    def _numbers(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.asarray(self.trees.tree_of[positions], np.int64)


class CandidateTrees(NamedTuple):
    """The trees of a collection as DPRL reads them."""

    trees: CollectionTrees
    layout: TreeSet

    def layout_query(self, query: Trees) -> QueryTree:
        """Return the query's layout tree with those of the candidates."""
        return _query_tree(with_plain_brackets(query.layout), self.layout, operators=False)

    def operator_query(self, query: Trees) -> QueryTree:
        """Return the query's operator tree with those of the candidates."""
        return _query_tree(query.operators, self.trees.operators, operators=True)

    def positions(self, visuals: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the positions of visual ids."""
        return np.searchsorted(self.trees.visuals, visuals)


def _query_tree(root: Node, trees: TreeSet, operators: bool) -> QueryTree:
    labels = trees.labels.extended(root)
    return QueryTree(one_tree(root, labels.ids), trees, labels, operators)


def open_candidates(context: SystemContext) -> CandidateTrees:
    """Return the trees of the collection; they are written beside the index once."""
    build = partial(_write, context.content, context.progress)
    folder = context.cached("dprl-layout", None, build, (*TREE_CODE, with_plain_brackets.__module__))
    return CandidateTrees(open_trees(context), read_set(folder))


def _write(content: Content, progress: Progress, folder: Path) -> None:
    write_layout(content, with_plain_brackets, folder, progress)


def tree_edit(
    context: SystemContext,
    share: float = 0.95,
    layout_costs: tuple[int, ...] = (9, 1, 8),
    operator_costs: tuple[int, ...] = (8, 1, 5),
    depth: int = DEPTH,
) -> Reranker:
    """Re-rank formulas by tree edit distance. `share` is the weight of layout trees; costs are those of delete, insert
    and rename."""
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


Model = Literal["45 topics", "29 topics"]
Features = dict[str, npt.NDArray[np.float64]]
# The representation of each embedding feature is not published; chosen by the rank correlation of our cosines with the
# stored values.
EMBEDDINGS: Mapping[str, Representation] = {
    "embedding_100": "opt",
    "embedding_102": "slt",
    "embedding_104": "slt-type",
    "embedding_105": "opt-type",
}


def model_weights(model: Model) -> Mapping[str, float]:
    """Return the weights of a published model by feature."""
    lines = files(__package__).joinpath("svm_rank.tsv").read_text("utf-8").splitlines()[1:]
    return {row["feature"]: float(row[model]) for row in csv.DictReader(lines, delimiter="\t")}


def svm_rank(context: SystemContext, model: Model = "45 topics", depth: int = DEPTH) -> Reranker:
    """Re-rank formulas by the linear model. `model` names the topics of ARQMath-1 on which it was trained."""
    vectors = VectorSearch(context, tuple(EMBEDDINGS.values()), Training())
    return SvmRank(open_candidates(context), vectors, model_weights(model), depth, reads_official(context.content))


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
