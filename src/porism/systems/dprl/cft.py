"""TangentCFT2 as a part: formulas by the cosine of their vectors, one ranking per representation, joined by score-weighted reciprocal ranks."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.evaluate.fusion import ScoredIds, score_rrf
from porism.formula.binary import Trees
from porism.progress import Progress
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import DEPTH, Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.dprl.embedding import FormulaVectors, Training, fast_text, query_vector, read_vectors, write_vectors
from porism.systems.dprl.words import REPRESENTATIONS, Representation, of_operators
from porism.systems.tangent.query import reads_official, searched_formula, trees_of
from porism.systems.tangent.retriever import open_trees
from porism.systems.tangent.trees import CollectionTrees

_CODE = ("porism.systems.tangent", "porism.systems.dprl.words", "porism.systems.dprl.embedding")


def tangent_cft2(
    context: SystemContext,
    representations: tuple[str, ...] = ("slt", "opt", "slt-type", "slt-unified"),
    k: float = 60.0,
    depth: int = DEPTH,
    dimensions: int = Training.dimensions,
    window: int = Training.window,
    negative: int = Training.negative,
    hierarchical: bool = Training.hierarchical,
    epochs: int = Training.epochs,
    formulas: int = Training.formulas,
) -> Retriever:
    """TangentCFT2. `depth` hits of each representation are joined with the constant `k`; the other options are those of the training."""
    unknown = [name for name in representations if name not in REPRESENTATIONS]
    if unknown:
        raise PorismError(f"no representation is named {unknown[0]}", fix=f"use {', '.join(REPRESENTATIONS)}")
    training = Training(dimensions, window, negative, hierarchical, epochs, formulas)
    names = tuple(name for name in REPRESENTATIONS if name in representations)
    return CftSearch(VectorSearch(context, names, training), k, depth, reads_official(context.content))


class VectorSearch:
    """The vectors of a collection's formulas in several representations, trained once and kept beside the index."""

    def __init__(self, context: SystemContext, names: tuple[Representation, ...], training: Training) -> None:
        fast_text()
        read = f"{training.formulas:,}" if training.formulas else "all"
        self.note = (
            f"fastText trained on {read} formulas of the collection: {training.dimensions} dimensions, window {training.window}, "
            f"{training.negative} negatives, {training.epochs} epochs"
        )
        self.trees = open_trees(context)
        self.names = names
        self._vectors: dict[Representation, FormulaVectors] = {}
        for name in names:
            build = partial(_write, self.trees, name, training, context.progress)
            folder = context.cached(f"tangent-cft-{name}", asdict(training), build, _CODE)
            self._vectors[name] = read_vectors(folder)

    def cosines(self, query: Trees, name: Representation) -> npt.NDArray[np.float64]:
        """Return the cosine of each formula, by its position, with the query."""
        vectors = self._vectors[name]
        found = self.trees.operators if of_operators(name) else self.trees.layout
        by_tree = vectors.trees @ query_vector(query, name, vectors)
        return np.asarray(by_tree[found.tree_of], np.float64)


def _write(trees: CollectionTrees, name: Representation, training: Training, progress: Progress, folder: Path) -> None:
    write_vectors(trees, name, training, folder, progress)


class CftSearch(Retriever):
    """Formulas by score-weighted reciprocal ranks over the representations."""

    finds = "formulas"

    def __init__(self, search: VectorSearch, k: float, depth: int, official: bool) -> None:
        self._search, self._k, self._depth, self._official = search, k, depth, official
        self.notes = (search.note,)

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k formulas by visual id."""
        rankings = self._rankings(query, max(k, self._depth))
        if not rankings:
            return Ranking.of({})
        return Ranking.sorted(*score_rrf(rankings, [1.0] * len(rankings), self._k)).top(k)

    def _rankings(self, query: ReadQuery, depth: int) -> list[ScoredIds]:
        """Return one ranking for each representation."""
        formula = searched_formula(query, self._official)
        if formula is None:
            return []
        trees = trees_of(formula)
        rankings = []
        for name in self._search.names:
            cosines = self._search.cosines(trees, name)
            best = np.argsort(-cosines, kind="stable")[:depth]
            rankings.append(ScoredIds(np.asarray(self._search.trees.visuals[best]), cosines[best]))
        return rankings

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return what each representation adds to the score."""
        parts = []
        for name, ranking in zip(self._search.names, self._rankings(query, self._depth), strict=False):
            rows = np.flatnonzero(ranking.ids == id)
            if len(rows):
                rank, cosine = int(rows[0]) + 1, float(ranking.scores[rows[0]])
                parts.append(Explanation(cosine / (self._k + rank), f"{name}: cosine {cosine:.3f}, rank {rank}"))
        value = sum(part.value for part in parts)
        return Explanation(value, "score-weighted reciprocal ranks", tuple(parts))
