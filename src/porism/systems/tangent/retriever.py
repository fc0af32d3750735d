"""Tangent-S: formulas for Task 2; for Task 1 the answers that contain them.

The first stage finds candidates by the Dice coefficient of symbol pairs, compiled. A pair is (label of a node, label of
a descendant at most four edges below, edges between them). Below an unordered operator every edge is 0, so that the
order of operands does not matter. Trees of at most two levels also have an end-of-baseline pair for each node that
nothing follows: single symbols have no other pair."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.formula import Parsed
from porism.formula.binary import Trees
from porism.formula.tree import Node
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.arrays import Array, Codes, Flags, Floats, Ints, Small, best_of, open_arrays, save_arrays
from porism.systems.declared.context import SystemContext
from porism.systems.tangent import trees as stored
from porism.systems.tangent.alignment import align
from porism.systems.tangent.forest import FIRST_ELEMENT, Forest, is_followed
from porism.systems.tangent.trees import CollectionTrees, TreeRetriever, TreeSet, open_trees, reads_official, trees_of

WINDOW = 4
_WITHIN, _ELEMENT = 7, 8
END = 0x7FFFFFFF  # the label of an end-of-baseline pair


class PairIndex(NamedTuple):
    """Posting lists: the pair `codes[i]` is in the trees from `starts[i]` to `starts[i + 1]`, with their counts."""

    codes: Codes
    starts: Ints
    trees: Small
    counts: npt.NDArray[np.int16]
    sizes: Small  # pairs of each tree


def unordered_labels(texts: list[str]) -> Flags:
    """Return which labels are operators whose operands have no order."""
    return np.array([text.startswith("U!") for text in texts], np.bool_)


def pair_codes(
    forest: Forest, unordered: Flags, operators: bool, window: int = WINDOW, always_end: bool = False
) -> tuple[Codes, Ints]:
    """Return the codes of the pairs of all trees, tree after tree, and where each tree starts.

    With `always_end` trees of any height have end-of-baseline pairs.
    """
    starts = np.zeros(forest.size + 1, np.int64)
    codes = np.empty(len(forest.labels) * (window + 1), np.uint64)
    used = _fill_codes(forest, unordered, operators, window, always_end, starts, codes)
    return codes[:used].copy(), starts


@compiled
def _fill_codes(
    forest: Forest, unordered: Array, operators: bool, window: int, always_end: bool, starts: Array, codes: Array
) -> int:
    """Write the codes of all pairs; return their number."""
    used = 0
    for tree in range(len(forest.starts) - 1):
        begin, end = forest.starts[tree], forest.starts[tree + 1]
        height = 0
        for at in range(begin, end):
            path, above, steps = 0, forest.parents[at], 0
            below = at
            while above >= 0:
                if steps < window:
                    path += (1 + edge_code(forest, below, above + begin, unordered, operators)) << (7 * steps)
                    codes[used] = mixed(forest.labels[begin + above], forest.labels[at], np.uint64(path))
                    used += 1
                steps += 1
                below = begin + above
                above = forest.parents[below]
            height = max(height, steps)
        if height <= 1 or always_end:
            for at in range(begin, end):
                if not is_followed(forest, begin, at - begin):
                    codes[used] = mixed(forest.labels[at], END, np.uint64(1))
                    used += 1
        starts[tree + 1] = used
    return used


@compiled
def edge_code(forest: Forest, node: int, above: int, unordered: Array, operators: bool) -> int:
    """Return the code of the edge above a node."""
    slot = int(forest.slots[node])
    if operators:
        return 0 if unordered[forest.labels[above]] else min(slot, 61)
    return slot if slot < FIRST_ELEMENT else _WITHIN if slot == FIRST_ELEMENT else _ELEMENT


@compiled
def mixed(upper: int, lower: int, code: Any) -> Any:
    """Mix two labels into a code of 64 bits by SplitMix64, so that small numbers do not cancel out."""
    part = np.uint64(upper)
    for step in range(3):
        code = code + np.uint64(0x9E3779B97F4A7C15)
        code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        code = code ^ (code >> np.uint64(31))
        if step < 2:
            code = code ^ part
            part = np.uint64(lower)
    return code


def index_pairs(forest: Forest, unordered: Flags, operators: bool) -> PairIndex:
    """Invert the pairs of a forest."""
    codes, starts = pair_codes(forest, unordered, operators)
    sizes = np.diff(starts).astype(np.int32)
    trees = np.repeat(np.arange(forest.size, dtype=np.int32), sizes)
    order = np.lexsort((trees, codes))
    codes, trees = codes[order], trees[order]
    new = np.ones(len(codes), np.bool_)
    new[1:] = (codes[1:] != codes[:-1]) | (trees[1:] != trees[:-1])
    first = np.flatnonzero(new)
    counts = np.diff(np.append(first, len(codes)))
    codes, trees = codes[first], trees[first]
    distinct, begins = np.unique(codes, return_index=True)
    starts = np.append(begins, len(codes)).astype(np.int64)
    return PairIndex(distinct, starts, trees, np.minimum(counts, 32_000).astype(np.int16), sizes)


def best_trees(index: PairIndex, query: Codes, k: int) -> Ranking:
    """Return the k trees (by number) with the largest Dice coefficient of pairs; of equal ones the first."""
    codes, counts = np.unique(query, return_counts=True)
    common = np.zeros(len(index.sizes), np.int32)
    _add_common(index, codes, counts, common)
    found = np.flatnonzero(common)
    scores = 2.0 * common[found] / (len(query) + index.sizes[found])
    return best_of(found, scores, k)


@compiled
def _add_common(index: PairIndex, codes: Array, counts: Array, common: Array) -> None:
    """Add the number of pairs that each tree has in common with the query."""
    for at in range(len(codes)):
        place = np.searchsorted(index.codes, codes[at])
        if place == len(index.codes) or index.codes[place] != codes[at]:
            continue
        for posting in range(index.starts[place], index.starts[place + 1]):
            common[index.trees[posting]] += min(counts[at], index.counts[posting])


# Linear regression on judgments of NTCIR-12, as published: the constant, then similarity, precision and recall of
# layout and operator trees.
CONSTANT = 0.2930
WEIGHTS = (0.0861, -0.1694, 1.8469, 0.9657, -0.0153, -0.3301)
FEATURES = tuple(
    f"{one} of {kind} trees" for kind in ("layout", "operator") for one in ("similarity", "precision", "recall")
)


class CandidateFeatures(NamedTuple):
    """Candidates by their positions in the collection, each with six features; zeros for trees that are none."""

    positions: Ints
    values: Floats


@dataclass(frozen=True)
class TangentSearch:
    """The trees of a collection with the posting lists of their pairs."""

    trees: CollectionTrees
    layout_pairs: PairIndex
    operator_pairs: PairIndex

    def features(self, query: Trees, candidates: int) -> CandidateFeatures:
        """Return the candidates for a query formula and their six features."""
        layout = _aligned(query.layout, self.trees.layout, self.layout_pairs, candidates, operators=False)
        operators = _aligned(query.operators, self.trees.operators, self.operator_pairs, candidates, operators=True)
        features = np.concatenate((layout[self.trees.layout.tree_of], operators[self.trees.operators.tree_of]), axis=1)
        positions = np.flatnonzero(~np.isnan(features).all(axis=1))
        return CandidateFeatures(positions, np.nan_to_num(features[positions]))


def _aligned(query: Node, trees: TreeSet, pairs: PairIndex, candidates: int, operators: bool) -> Floats:
    """Return the vector of every tree; NaN for those that are not among the candidates."""
    labels = trees.labels.extended(query)
    forest = stored.one_tree(query, labels.ids)
    codes, _ = pair_codes(forest, labels.classes.unordered, operators)
    chosen = best_trees(pairs, codes, candidates).ids
    out = np.full((trees.forest.size, 3), np.nan)
    out[chosen] = align(forest, trees.forest, chosen, labels.classes, operators)
    return out


def regression(features: Floats) -> Floats:
    """Return the score of each vector of six features."""
    return np.asarray(CONSTANT + features @ np.array(WEIGHTS))


Pooling = Literal["last", "max"]
_KINDS = ("layout", "operators")


class AnswerLists(NamedTuple):
    """The answers with each formula: those of visual id i, by position, are at `starts[i]` to `starts[i + 1]`."""

    starts: Ints
    answers: Ints

    def of(self, position: int) -> Ints:
        """Return the answers with a formula."""
        return np.asarray(self.answers[self.starts[position] : self.starts[position + 1]])


def tangent_s(context: SystemContext, candidates: int = 2000, pool: Pooling = "last") -> Retriever:
    """Tangent-S. `candidates` trees of each kind are aligned; `pool` says which of an answer's formulas counts."""
    trees, content, official = open_trees(context), context.content, reads_official(context.content)

    def build_pairs(folder: Path) -> None:
        for kind in _KINDS:
            found: TreeSet = getattr(trees, kind)
            save_arrays(folder / kind, index_pairs(found.forest, found.labels.classes.unordered, kind == "operators"))

    def build_answers(folder: Path) -> None:
        """Write for each visual id the answers whose text contains it, in the order of formulas."""
        visuals = np.array([visual.id for visual in content.visuals()], np.int64)
        pairs = [(one.visual_id, one.post_id) for one in content.formulas() if one.kind == "answer"]
        columns = np.array(pairs, np.int64).reshape(-1, 2)
        columns = columns[np.argsort(columns[:, 0], kind="stable")]
        starts = np.searchsorted(columns[:, 0], np.append(visuals, np.iinfo(np.int64).max))
        save_arrays(folder, AnswerLists(starts.astype(np.int64), columns[:, 1]))

    folder = context.cached("symbol-pairs", None, build_pairs, stored.TREE_CODE)
    search = TangentSearch(trees, *(open_arrays(folder / kind, PairIndex) for kind in _KINDS))
    if context.task == 2:
        return TangentFormulas(search, candidates, official)
    lists = open_arrays(context.cached("formula-answers", None, build_answers), AnswerLists)
    return TangentAnswers(search, candidates, official, lists, pool)


class TangentFormulas(TreeRetriever):
    """Formulas by the regression over both stages."""

    def __init__(self, search: TangentSearch, candidates: int, official: bool) -> None:
        super().__init__(official)
        self._search, self._candidates = search, candidates

    def ranked(self, formula: Parsed, k: int) -> Ranking:
        """Return the candidates by visual id."""
        found = self._search.features(trees_of(formula), self._candidates)
        return Ranking.sorted(self._search.trees.visuals[found.positions], regression(found.values))

    def explained(self, formula: Parsed, id: int) -> Explanation | None:
        """Return the terms of the regression."""
        found = self._search.features(trees_of(formula), self._candidates)
        rows = np.flatnonzero(self._search.trees.visuals[found.positions] == id)
        return explained(found.values[rows[0]]) if len(rows) else None


class TangentAnswers(TangentFormulas):
    """Answers by the scores of their formulas. The query formula is the largest of the title, or of the body."""

    finds = "posts"

    def __init__(
        self, search: TangentSearch, candidates: int, official: bool, lists: AnswerLists, pool: Pooling
    ) -> None:
        super().__init__(search, candidates, official)
        self._lists, self._pool = lists, pool

    def formula(self, query: ReadQuery) -> Parsed | None:
        """Return the formula that is searched."""
        return stored.largest_formula(query, self._official)

    def ranked(self, formula: Parsed, k: int) -> Ranking:
        """Return the answers with candidates. Equal answers are in the order of their best formulas."""
        found = self._search.features(trees_of(formula), self._candidates)
        scores = regression(found.values)
        order = np.lexsort((found.positions, -scores))
        rows = [self._lists.of(int(position)) for position in found.positions[order]]
        answers = np.concatenate(rows) if rows else np.empty(0, np.int64)
        values = np.repeat(scores[order], [len(row) for row in rows])
        distinct, first, place = np.unique(answers, return_index=True, return_inverse=True)
        pooled = values[first]
        if self._pool == "last":  # formulas are read best first, so that the last one has the lowest score
            np.minimum.at(pooled, place, values)
        best = np.lexsort((first, -pooled))
        return Ranking(distinct[best], pooled[best])

    def explained(self, formula: Parsed, id: int) -> Explanation | None:
        """Return the terms of the regression for the formula that gives the answer its score."""
        found = self._search.features(trees_of(formula), self._candidates)
        scores = regression(found.values)
        rows = [row for row, at in enumerate(found.positions.tolist()) if id in self._lists.of(at)]
        if not rows:
            return None
        row = (min if self._pool == "last" else max)(rows, key=lambda one: scores[one])
        visual = int(self._search.trees.visuals[found.positions[row]])
        return explained(found.values[row], f"formula with visual id {visual}")


def explained(features: Floats, what: str = "regression of Tangent-S") -> Explanation:
    """Return the terms of the regression."""
    terms = zip(FEATURES, WEIGHTS, features.tolist(), strict=True)
    parts = (Explanation(weight * value, f"{name}: {value:.3f} x {weight}") for name, weight, value in terms)
    return Explanation.total(what, (Explanation(CONSTANT, "constant"), *parts))
