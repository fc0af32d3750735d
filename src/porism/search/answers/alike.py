"""Structure for each formula: threads and answers that hold formulas like those of the query, compared as wholes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.corpus.store.collection import Collection
from porism.index.storage.rows import Values
from porism.search.formulas.searcher import FormulaSearcher
from porism.search.query import ReadQuery

Numbers = npt.NDArray[np.int64]
MOST = 5  # formulas of a query that are looked for, the largest ones
LEAST_NODES = 3  # smaller ones stand everywhere
DEPTH = 300  # formulas like it that are believed to be like it
MOST_POSTS = 100  # a formula that stands in more posts tells none of them apart


class Alike(NamedTuple):
    """Where formulas like one of the query stand: its size, threads and posts, and how alike the formula at each place is."""

    size: int
    threads: Numbers
    posts: Numbers
    likeness: npt.NDArray[np.float64]


class AlikeSearcher:
    """Looks up the formulas of a query, each for itself, and the posts that hold what was found."""

    def __init__(self, formulas: FormulaSearcher, collection: Collection) -> None:
        self._formulas = formulas
        self._collection = collection

    def find(self, query: ReadQuery) -> tuple[Alike, ...]:
        """Places of formulas like the largest ones of a query."""
        sized = [(one.parsed.latex, one.parsed.operators.size()) for one in query.formulas if one.parsed.operators]
        largest = sorted((one for one in sized if one[1] >= LEAST_NODES), key=lambda one: -one[1])[:MOST]
        return tuple(self._places(latex, size) for latex, size in largest)

    def _places(self, latex: str, size: int) -> Alike:
        hits = self._formulas.most_similar(latex, DEPTH)
        rows = list(self._collection.places(hits.visual_ids.tolist(), MOST_POSTS))
        places = np.array(rows, np.int64).reshape(-1, 3)
        order = np.argsort(hits.visual_ids)
        at = order[np.searchsorted(hits.visual_ids, places[:, 0], sorter=order)]
        return Alike(size, places[:, 1], places[:, 2], hits.scores[at])


def alike_scores(found: Sequence[Alike], questions: Numbers, answers: Numbers) -> tuple[Values, Values]:
    """What threads (by the ids of their questions) and answers get: for each formula of the query the square of the best likeness there,
    times the logarithm of its size."""
    threads, posts = np.zeros(len(questions), np.float32), np.zeros(len(answers), np.float32)
    for one in found:
        threads += np.log(one.size) * _best(questions, one.threads, one.likeness) ** 2
        posts += np.log(one.size) * _best(answers, one.posts, one.likeness) ** 2
    return threads, posts


def _best(ids: Numbers, holders: Numbers, likeness: npt.NDArray[np.float64]) -> Values:
    """For each id the largest likeness among its places, 0 where it has none."""
    best = np.zeros(len(ids), np.float32)
    if len(ids) and len(holders):
        order = np.argsort(ids, kind="stable")
        at = np.minimum(np.searchsorted(ids, holders, sorter=order), len(ids) - 1)
        known = ids[order[at]] == holders
        np.maximum.at(best, order[at[known]], likeness[known].astype(np.float32))
    return best
