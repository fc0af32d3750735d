"""Candidates of a formula query: the union of several searches over the posting lists, since each kind of term misses some formulas."""

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
# Terms that more than this share of all formulas contain select little, and their posting lists take most of the time in a large
# index. Below LARGE_INDEX formulas every term is searched, since time does not matter there.
MAX_DOCUMENT_SHARE = {"tuples": 0.5, "paths": 0.2}
LARGE_INDEX = 100_000
MIN_POSTINGS = 20  # for each requested candidate; if the rarer terms have fewer, the frequent ones are searched too
# A formula outside the list of the tuple search scored less than the last one in it; assume this share of that score.
UNLISTED_SHARE = 0.5


class Candidates(NamedTuple):
    """Rows of the store, ascending, and their tuple score: BM25 divided by the score of the query against itself."""

    rows: npt.NDArray[np.int64]
    tuple_scores: npt.NDArray[np.float64]


def find_candidates(
    query: FormulaQuery, store: FormulaStore, depth: int, extra_rows: list[int], executor: Executor
) -> Candidates:
    """Return the best `depth` formulas by tuples, more by paths and sub-expressions, and the extra rows."""
    searches = (
        (_selective_terms("tuples", query.tuples, depth, store), depth),
        (_selective_terms("paths", Counter(query.features.paths), PATH_DEPTH, store), PATH_DEPTH),
        (_terms("parts", Counter(query.features.parts)), PART_DEPTH),
    )
    tuples, paths, parts = executor.map(lambda search: store.postings.search(*search), searches)
    rows = np.unique(np.concatenate((tuples.keys, paths.keys, parts.keys, np.array(extra_rows, np.int64))))
    scores = np.full(len(rows), UNLISTED_SHARE * _lowest_score(tuples, depth))
    scores[np.searchsorted(rows, tuples.keys)] = tuples.scores
    return Candidates(rows, scores / self_score(query.tuples, store))


def _terms(field: str, counts: Counter[str]) -> Iterable[Term]:
    return (Term(field, text, float(count)) for text, count in counts.items())


def _selective_terms(field: str, counts: Counter[str], depth: int, store: FormulaStore) -> Iterable[Term]:
    """Return the terms of a field; in a large index without the most frequent ones, if the others have enough postings."""
    if store.formulas >= LARGE_INDEX:
        frequencies = {text: store.postings.document_frequency(field, text) for text in counts}
        limit = MAX_DOCUMENT_SHARE[field] * store.formulas
        rare = {text: frequency for text, frequency in frequencies.items() if frequency <= limit}
        if sum(rare.values()) >= MIN_POSTINGS * depth:
            counts = Counter({text: counts[text] for text in rare})
    return _terms(field, counts)


def _lowest_score(found: Found, depth: int) -> float:
    """Return the score that a formula outside the list cannot exceed."""
    return float(found.scores[-1]) if len(found.scores) == depth else 0.0


def self_score(tuples: Counter[str], store: FormulaStore) -> float:
    """Return the BM25 score of a formula against itself."""
    length = K1 * (1 - B + B * tuples.total() / max(1.0, store.average_tuples))
    count = np.array(list(tuples.values()), np.float64)
    frequency = np.array([store.postings.document_frequency("tuples", text) for text in tuples], np.float64)
    idf = np.log1p((store.formulas - frequency + 0.5) / (frequency + 0.5))
    return max(1e-9, float((count * idf * (K1 + 1) * count / (count + length)).sum()))
