"""What DPRL's re-rankers compute of candidates: edit distances and tuple features of both kinds of trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.corpus.content import Content
from porism.formula.binary import Trees
from porism.formula.tree import Node
from porism.progress import Progress
from porism.systems.declared.context import SystemContext
from porism.systems.dprl.edit_distance import Costs, Distances, EditFeatures, edit_distances, edit_features, symbol_ids
from porism.systems.dprl.layout import with_plain_brackets
from porism.systems.dprl.tuples import tuple_features
from porism.systems.tangent.forest import Forest
from porism.systems.tangent.labels import QueryLabels
from porism.systems.tangent.retriever import TREE_CODE, open_trees
from porism.systems.tangent.trees import CollectionTrees, TreeSet, one_tree, read_set, write_layout


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
