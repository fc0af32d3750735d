"""Formulas worth a closer look: united from several families of terms, since each family misses what another finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.index.formulas.store import FormulaStore
from porism.index.postings import Found, Term
from porism.search.formulas.query import FormulaQuery

K1, B = 1.2, 0.75
PATH_DEPTH, PART_DEPTH = 200, 200
# Terms that this share of all formulas have tell little and cost most of the time that grows with the index. Where there are fewer
# formulas than LARGE, time is no matter.
COMMON = {"tuples": 0.5, "paths": 0.2}
LARGE = 100_000
ENOUGH = 20
# A formula outside the tuples' list scored less than its last; how much less is not known.
MISSED = 0.5


class Candidates(NamedTuple):
    """Rows of the store, in order, and their tuple score: BM25 as a share of what the query would score against itself."""

    rows: npt.NDArray[np.int64]
    tuples: npt.NDArray[np.float64]


def candidates(query: FormulaQuery, store: FormulaStore, depth: int, more: list[int], pool: Executor) -> Candidates:
    """The best `depth` formulas by tuples, where the index has so many, others by paths and parts, and those rows that are known."""
    asked = (
        (_telling("tuples", query.tuples, depth, store), depth),
        (_telling("paths", Counter(query.features.paths), PATH_DEPTH, store), PATH_DEPTH),
        (_terms("parts", Counter(query.features.parts)), PART_DEPTH),
    )
    tuples, paths, parts = pool.map(lambda one: store.postings.search(*one), asked)
    rows = np.unique(np.concatenate((tuples.keys, paths.keys, parts.keys, np.array(more, np.int64))))
    scores = np.full(len(rows), MISSED * _last(tuples, depth))
    scores[np.searchsorted(rows, tuples.keys)] = tuples.scores
    return Candidates(rows, scores / self_score(query.tuples, store))


def _terms(field: str, counts: Counter[str]) -> Iterable[Term]:
    return (Term(field, text, float(count)) for text, count in counts.items())


def _telling(field: str, counts: Counter[str], depth: int, store: FormulaStore) -> Iterable[Term]:
    """The terms of a field; in a large index without those that a great share of all formulas have, if the others find enough."""
    if store.formulas >= LARGE:
        holders = {text: store.postings.document_frequency(field, text) for text in counts}
        rare = {text: number for text, number in holders.items() if number <= COMMON[field] * store.formulas}
        if sum(rare.values()) >= ENOUGH * depth:
            counts = Counter({text: counts[text] for text in rare})
    return _terms(field, counts)


def _last(found: Found, depth: int) -> float:
    """The score that a formula outside the list cannot exceed."""
    return float(found.scores[-1]) if len(found.scores) == depth else 0.0


def self_score(tuples: Counter[str], store: FormulaStore) -> float:
    """BM25 of a formula against itself."""
    length = K1 * (1 - B + B * tuples.total() / max(1.0, store.average_tuples))
    count = np.array(list(tuples.values()), np.float64)
    holders = np.array([store.postings.document_frequency("tuples", text) for text in tuples], np.float64)
    rarity = np.log1p((store.formulas - holders + 0.5) / (holders + 0.5))
    return max(1e-9, float((count * rarity * (K1 + 1) * count / (count + length)).sum()))
