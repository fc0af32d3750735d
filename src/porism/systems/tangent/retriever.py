"""Tangent-S as a part: formulas for Task 2; for Task 1 the answers that contain them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.corpus.content import Content
from porism.formula import Parsed
from porism.formula.binary import Trees
from porism.formula.tree import Node
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.tangent.alignment import align
from porism.systems.tangent.pairs import PairIndex, best_trees, index_pairs, pair_codes
from porism.systems.tangent.trees import (
    CollectionTrees,
    TreeSet,
    largest_formula,
    one_tree,
    read_trees,
    reads_official,
    searched_formula,
    trees_of,
    write_trees,
)

# Linear regression on judgments of NTCIR-12, as published: the constant, then similarity, precision and recall of
# layout and operator trees.
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
    """Candidates by their positions in the collection, each with six features; zeros for a kind of tree that was no
    candidate."""

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


Pooling = Literal["last", "max"]
TREE_CODE = tuple(f"porism.systems.tangent.{name}" for name in ("forest", "trees"))
_KINDS = ("layout", "operators")


class AnswerLists(NamedTuple):
    """The answers in which a formula occurs: those of visual id i, by position, are at `starts[i]` to `starts[i +
    1]`."""

    starts: npt.NDArray[np.int64]
    answers: npt.NDArray[np.int64]


def tangent_s(context: SystemContext, candidates: int = 2000, pool: Pooling = "last") -> Retriever:
    """Tangent-S. `candidates` trees of each kind are aligned; `pool` says which of an answer's formulas gives its
    score."""
    search = open_search(context)
    official = reads_official(context.content)
    if context.task == 2:
        return FormulaSearch(search, candidates, official)
    folder = context.cached("formula-answers", None, partial(_write_answers, context.content))
    lists = AnswerLists(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in AnswerLists._fields))
    return AnswerSearch(search, candidates, official, lists, pool)


def open_trees(context: SystemContext) -> CollectionTrees:
    """Return the trees of the collection; they are written beside the index once."""
    content, progress = context.content, context.progress
    folder = context.cached("trees", None, lambda folder: write_trees(content, folder, progress), TREE_CODE)
    return read_trees(folder)


def open_search(context: SystemContext) -> TangentSearch:
    """Return the trees of the collection with the posting lists of their pairs."""
    trees = open_trees(context)
    folder = context.cached("symbol-pairs", None, partial(_write_pairs, trees), (*TREE_CODE, index_pairs.__module__))
    return TangentSearch(trees, *(_read_pairs(folder / kind) for kind in _KINDS))


def _write_pairs(trees: CollectionTrees, folder: Path) -> None:
    for kind in _KINDS:
        found: TreeSet = getattr(trees, kind)
        pairs = index_pairs(found.forest, found.labels.classes.unordered, kind == "operators")
        (folder / kind).mkdir()
        for name, array in pairs._asdict().items():
            np.save(folder / kind / f"{name}.npy", array)


def _read_pairs(folder: Path) -> PairIndex:
    return PairIndex(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in PairIndex._fields))


def _write_answers(content: Content, folder: Path) -> None:
    """Write for each visual id the answers whose text contains it, in the order of formulas."""
    visuals = np.array([visual.id for visual in content.visuals()], np.int64)
    pairs = [(one.visual_id, one.post_id) for one in content.formulas() if one.kind == "answer"]
    columns = np.array(pairs, np.int64).reshape(-1, 2)
    order = np.argsort(columns[:, 0], kind="stable")
    columns = columns[order]
    starts = np.searchsorted(columns[:, 0], np.append(visuals, np.iinfo(np.int64).max))
    np.save(folder / "starts.npy", starts.astype(np.int64))
    np.save(folder / "answers.npy", columns[:, 1])


class FormulaSearch(Retriever):
    """Formulas by the regression over both stages."""

    finds: Literal["posts", "formulas"] = "formulas"

    def __init__(self, search: TangentSearch, candidates: int, official: bool) -> None:
        self._search, self._candidates, self._official = search, candidates, official

    def vectors(self, query: ReadQuery) -> Vectors:
        """Return the candidates of a query with their features; none for a query without a formula."""
        formula = self.formula(query)
        if formula is None:
            return Vectors(np.empty(0, np.int64), np.empty((0, len(FEATURES))))
        return self._search.vectors(trees_of(formula), self._candidates)

    def formula(self, query: ReadQuery) -> Parsed | None:
        """Return the formula that is searched."""
        return searched_formula(query, self._official)

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k formulas by visual id."""
        found = self.vectors(query)
        return Ranking.sorted(self._search.trees.visuals[found.positions], regression(found.features)).top(k)

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return the terms of the regression."""
        found = self.vectors(query)
        rows = np.flatnonzero(self._search.trees.visuals[found.positions] == id)
        return explained(found.features[rows[0]]) if len(rows) else Explanation(0.0, "not among the candidates")


class AnswerSearch(FormulaSearch):
    """Answers by the scores of their formulas. The query formula is the largest of the title, or of the body."""

    finds = "posts"

    def __init__(
        self, search: TangentSearch, candidates: int, official: bool, lists: AnswerLists, pool: Pooling
    ) -> None:
        super().__init__(search, candidates, official)
        self._lists, self._pool = lists, pool

    def formula(self, query: ReadQuery) -> Parsed | None:
        """Return the formula that is searched."""
        return largest_formula(query, self._official)

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k answers. Equal answers are in the order of their best formulas."""
        found = self.vectors(query)
        scores = regression(found.features)
        order = np.lexsort((found.positions, -scores))
        rows = [self._answers(int(position)) for position in found.positions[order]]
        answers = np.concatenate(rows) if rows else np.empty(0, np.int64)
        values = np.repeat(scores[order], [len(row) for row in rows])
        distinct, first, place = np.unique(answers, return_index=True, return_inverse=True)
        pooled = values[first]
        if self._pool == "last":  # formulas are read best first, so that the last one has the lowest score
            np.minimum.at(pooled, place, values)
        best = np.lexsort((first, -pooled))[: max(k, 0)]
        return Ranking(distinct[best], pooled[best])

    def _answers(self, position: int) -> npt.NDArray[np.int64]:
        return np.asarray(self._lists.answers[self._lists.starts[position] : self._lists.starts[position + 1]])

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return the terms of the regression for the formula that gives the answer its score."""
        found = self.vectors(query)
        scores = regression(found.features)
        rows = [row for row, at in enumerate(found.positions.tolist()) if id in self._answers(at)]
        if not rows:
            return Explanation(0.0, "contains no candidate formula")
        choose = min if self._pool == "last" else max
        row = choose(rows, key=lambda one: scores[one])
        visual = int(self._search.trees.visuals[found.positions[row]])
        return explained(found.features[row], f"formula with visual id {visual}")


def explained(features: npt.NDArray[np.float64], what: str = "regression of Tangent-S") -> Explanation:
    """Return the terms of the regression."""
    terms = zip(FEATURES, WEIGHTS, features.tolist(), strict=True)
    parts = [Explanation(weight * value, f"{name}: {value:.3f} x {weight}") for name, weight, value in terms]
    parts.insert(0, Explanation(CONSTANT, "constant"))
    return Explanation(sum(part.value for part in parts), what, tuple(parts))
