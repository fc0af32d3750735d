"""Re-rankers of formulas: the features of candidates, tree edit distance, and a linear SVM over both."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import Literal, NamedTuple

import numpy as np

from porism.errors import PorismError
from porism.formula.binary import Trees
from porism.formula.tree import Node
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import DEPTH, Ranking, Reranker
from porism.systems.arrays import Floats, Ints, reordered
from porism.systems.declared.context import SystemContext
from porism.systems.dprl.cft import FastTextTraining, VectorSearch
from porism.systems.dprl.edit_distance import Costs, Distances, EditFeatures, edit_distances, edit_features, symbol_ids
from porism.systems.dprl.layout import with_plain_brackets
from porism.systems.dprl.tuples import Representation, tuple_features
from porism.systems.tangent import trees as stored
from porism.systems.tangent.alignment import align
from porism.systems.tangent.forest import Forest, QueryLabels
from porism.systems.tangent.trees import TreeSet, open_trees, reads_official, searched_formula, trees_of


class QueryTree(NamedTuple):
    """A query tree with the trees of the candidates: `trees` by position, and labels that cover both."""

    forest: Forest
    trees: TreeSet
    labels: QueryLabels
    operators: bool

    def edits(self, positions: Ints, types: bool) -> EditFeatures:
        """Return the edit-distance features of candidates."""
        symbols = symbol_ids(self.labels, types, braces=False)
        return edit_features(self.forest, self.trees.forest, self._numbers(positions), symbols, self.operators)

    def distances(self, positions: Ints, costs: Sequence[Costs]) -> Distances:
        """Return the edit distances of candidates."""
        symbols = symbol_ids(self.labels, types=False, braces=False)
        return edit_distances(self.forest, self.trees.forest, self._numbers(positions), symbols, self.operators, costs)

    def tuples(self, positions: Ints, types: bool) -> Floats:
        """Return the tuple features of candidates."""
        symbols, unordered = symbol_ids(self.labels, types), self.labels.classes.unordered
        numbers = self._numbers(positions)
        return tuple_features(self.forest, self.trees.forest, numbers, symbols, unordered, self.operators)

    def alignment(self, positions: Ints) -> Floats:
        """Return the three features of Tangent-S."""
        numbers = self._numbers(positions)
        return align(self.forest, self.trees.forest, numbers, self.labels.classes, self.operators)

    def _numbers(self, positions: Ints) -> Ints:
        return np.asarray(self.trees.tree_of[positions], np.int64)


class CandidateTrees(NamedTuple):
    """The trees of a collection as DPRL reads them."""

    trees: stored.CollectionTrees
    layout: TreeSet

    def layout_query(self, query: Trees) -> QueryTree:
        """Return the query's layout tree with those of the candidates."""
        return query_tree(with_plain_brackets(query.layout), self.layout, operators=False)

    def operator_query(self, query: Trees) -> QueryTree:
        """Return the query's operator tree with those of the candidates."""
        return query_tree(query.operators, self.trees.operators, operators=True)

    def positions(self, visuals: Ints) -> Ints:
        """Return the positions of visual ids."""
        return np.searchsorted(self.trees.visuals, visuals)


def query_tree(root: Node, trees: TreeSet, operators: bool) -> QueryTree:
    """Return a query tree with some trees of a collection."""
    labels = trees.labels.extended(root)
    return QueryTree(stored.one_tree(root, labels.ids), trees, labels, operators)


def open_candidates(context: SystemContext) -> CandidateTrees:
    """Return the trees of the collection; they are written beside the index once."""
    kinds = {"layout": lambda trees: with_plain_brackets(trees.layout)}
    build = partial(stored.write_trees, context.content, kinds, context.progress)
    folder = context.cached("dprl-layout", None, build, (*stored.TREE_CODE, with_plain_brackets.__module__))
    return CandidateTrees(open_trees(context), stored.read_set(folder / "layout"))


class TreeReranker(Reranker):
    """Orders formulas by a score of their trees and those of the query formula; equal ones as they were."""

    def __init__(self, context: SystemContext, depth: int) -> None:
        self._candidates, self._official = open_candidates(context), reads_official(context.content)
        self.depth = depth

    def scores(self, query: Trees, visuals: Ints) -> Floats:
        """Return the scores of formulas by their visual ids."""
        raise NotImplementedError

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        """Return the formulas with the highest score first."""
        formula = searched_formula(query, self._official)
        if formula is None or not len(ranking):
            return ranking
        return reordered(ranking, self.scores(trees_of(formula), ranking.ids))

    def explain(self, query: ReadQuery, id: int, found: Callable[[], Ranking]) -> Explanation:
        """Return the reasons of a score."""
        formula = searched_formula(query, self._official)
        if formula is None:
            return Explanation(0.0, "the query has no formula")
        return self.explained(trees_of(formula), np.array([id]))

    def explained(self, query: Trees, visuals: Ints) -> Explanation:
        """Return the reasons of the score of one formula."""
        raise NotImplementedError


class EditReranker(TreeReranker):
    """Orders formulas by their edit distance to the query formula. `share` is the weight of layout trees; costs are of
    delete, insert, rename."""

    def __init__(
        self,
        context: SystemContext,
        share: float = 0.95,
        layout_costs: tuple[int, ...] = (9, 1, 8),
        operator_costs: tuple[int, ...] = (8, 1, 5),
        depth: int = DEPTH,
    ) -> None:
        if len(layout_costs) != 3 or len(operator_costs) != 3:
            raise PorismError("costs are three numbers", fix="give delete, insert and rename, as 9,1,8")
        super().__init__(context, depth)
        self._costs, self._share = (Costs(*layout_costs), Costs(*operator_costs)), share

    def scores(self, query: Trees, visuals: Ints) -> Floats:
        """Return the weighted similarities of layout trees and operator trees."""
        layout, operators = self._similarities(query, visuals)
        return np.asarray(self._share * layout + (1.0 - self._share) * operators)

    def _similarities(self, query: Trees, visuals: Ints) -> tuple[Floats, Floats]:
        """Return the similarities of layout trees and operator trees; 0 without a tree."""
        positions = self._candidates.positions(visuals)
        layout = self._candidates.layout_query(query).distances(positions, self._costs[:1])
        operators = self._candidates.operator_query(query).distances(positions, self._costs[1:])
        return _similarity(layout.values[:, 0]), _similarity(operators.values[:, 0])

    def explained(self, query: Trees, visuals: Ints) -> Explanation:
        """Return the parts of layout and operator trees."""
        layout, operators = (float(values[0]) for values in self._similarities(query, visuals))
        parts = (
            Explanation(self._share * layout, f"layout trees: {layout:.4f}"),
            Explanation((1.0 - self._share) * operators, f"operator trees: {operators:.4f}"),
        )
        return Explanation.total("1 / (tree edit distance + 1)", parts)


def _similarity(distances: Floats) -> Floats:
    return np.nan_to_num(1.0 / (distances + 1.0), nan=0.0)


Model = Literal["45 topics", "29 topics"]
# The representation of each embedding feature is not published; chosen by the rank correlation of our cosines with the
# stored values.
EMBEDDINGS: Mapping[str, Representation] = {
    "embedding_100": "opt", "embedding_102": "slt", "embedding_104": "slt-type", "embedding_105": "opt-type"
}  # fmt: skip


class SvmRank(TreeReranker):
    """Orders formulas by a linear model over their features. `model` names the topics of ARQMath-1 on which it was
    trained."""

    def __init__(self, context: SystemContext, model: Model = "45 topics", depth: int = DEPTH) -> None:
        self._vectors = VectorSearch(context, tuple(EMBEDDINGS.values()), FastTextTraining())
        super().__init__(context, depth)
        lines = files(__package__).joinpath("svm_rank.tsv").read_text("utf-8").splitlines()[1:]
        self._weights = {row["feature"]: float(row[model]) for row in csv.DictReader(lines, delimiter="\t")}
        self.notes = (f"embedding features: {self._vectors.note}",)

    def scores(self, query: Trees, visuals: Ints) -> Floats:
        """Return the scores of the model."""
        features = self.features(query, visuals)
        return sum((weight * features[name] for name, weight in self._weights.items()), np.zeros(len(visuals)))

    def features(self, query: Trees, visuals: Ints) -> dict[str, Floats]:
        """Return the features of formulas by their visual ids."""
        candidates, positions = self._candidates, self._candidates.positions(visuals)
        found: dict[str, Floats] = {}
        layout = query_tree(query.layout, candidates.trees.layout, operators=False)
        operators = candidates.operator_query(query)
        for kind, official, tree in (("slt", layout, candidates.layout_query(query)), ("opt", operators, operators)):
            names = (f"mss_{kind}", f"precision_{kind}", f"recall_{kind}")
            found |= zip(names, official.alignment(positions).T, strict=True)
            for types, suffix in ((False, ""), (True, "_type")):
                edits = tree.edits(positions, types)
                found[f"ted_{kind}{suffix}"], found[f"ted_{kind}_weighted{suffix}"] = edits.plain, edits.weighted
                found[f"tuple_{kind}{suffix}"] = tree.tuples(positions, types)
        for name, representation in EMBEDDINGS.items():
            found[name] = self._vectors.cosines(query, representation)[positions]
        return found

    def explained(self, query: Trees, visuals: Ints) -> Explanation:
        """Return each feature times its weight."""
        features = self.features(query, visuals)
        values = {name: float(features[name][0]) for name in self._weights}
        parts = (
            Explanation(weight * values[name], f"{name}: {values[name]:.3f} x {weight}")
            for name, weight in self._weights.items()
        )
        return Explanation.total("linear model (SVM-rank)", parts)
