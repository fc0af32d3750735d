"""Candidates of a formula query: the union of several searches over the posting lists, since each kind of term misses some formulas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.deadline import in_threads
from porism.index.formulas.store import WHOLE
from porism.index.protocols import Candidates as Found
from porism.index.protocols import FormulaStore, Term
from porism.index.weighting import BM25, lucene_idf, saturation
from porism.search.formulas.query import FormulaQuery

WEIGHTING = BM25()
PATH_DEPTH, PART_DEPTH = 200, 200
MAX_PATHS = 40  # the rarest paths of the query are searched; the frequent ones have long posting lists and change few candidates
# Terms that more than this share of all formulas contain select little, and their posting lists take most of the time in a large
# index. Below LARGE_INDEX formulas every term is searched, since time does not matter there.
MAX_DOCUMENT_SHARE = {"tuples": 0.5, "paths": 0.2}
LARGE_INDEX = 100_000
MAX_SYMBOLS_IN_THREADS = 200
MIN_POSTINGS = 20  # for each requested candidate; if the rarer terms have fewer, the frequent ones are searched too
# A formula outside the list of the tuple search scored less than the last one in it; assume this share of that score.
UNLISTED_SHARE = 0.5


class Candidates(NamedTuple):
    """Rows of the store, ascending, and their tuple score: BM25 divided by the score of the query against itself."""

    rows: npt.NDArray[np.int64]
    tuple_scores: npt.NDArray[np.float64]


class _Search(NamedTuple):
    terms: Sequence[Term]
    depth: int


def _find(store: FormulaStore, search: _Search) -> Found:
    return store.terms.search(search.terms, WHOLE, WEIGHTING, search.depth)


def find_candidates(
    query: FormulaQuery, store: FormulaStore, depth: int, extra_rows: list[int], executor: Executor
) -> Candidates:
    """Return the best `depth` formulas by tuples, more by paths and sub-expressions, and the extra rows."""
    rare_paths = _rarest_paths(Counter(query.features.paths), store)
    searches = (
        _Search(_selective_terms("tuples", query.tuples, depth, store), depth),
        _Search(_selective_terms("paths", rare_paths, PATH_DEPTH, store), PATH_DEPTH),
        _Search(_terms("parts", Counter(query.features.parts)), PART_DEPTH),
    )
    # The threads are for queries of usual size; a large one would keep others waiting.
    is_large = len(query.layout.labels) > MAX_SYMBOLS_IN_THREADS
    find = in_threads(partial(_find, store))
    tuples, paths, parts = map(find, searches) if is_large else executor.map(find, searches)
    rows = np.unique(np.concatenate((tuples.rows, paths.rows, parts.rows, np.array(extra_rows, np.int64))))
    scores = np.full(len(rows), UNLISTED_SHARE * _lowest_score(tuples, depth))
    scores[np.searchsorted(rows, tuples.rows)] = tuples.scores
    return Candidates(rows, scores / self_score(query.tuples, store))


def _terms(family: str, counts: Counter[str]) -> list[Term]:
    return [Term(family, text, float(count)) for text, count in counts.items()]


def _selective_terms(family: str, counts: Counter[str], depth: int, store: FormulaStore) -> Sequence[Term]:
    """Return the terms of a family; in a large index without the most frequent ones, if the others have enough postings."""
    terms = _terms(family, counts)
    if store.formulas < LARGE_INDEX:
        return terms
    frequencies = store.terms.statistics(terms, WHOLE).documents
    rare = np.flatnonzero(frequencies <= MAX_DOCUMENT_SHARE[family] * store.formulas)
    return [terms[at] for at in rare.tolist()] if frequencies[rare].sum() >= MIN_POSTINGS * depth else terms


def _rarest_paths(counts: Counter[str], store: FormulaStore) -> Counter[str]:
    """Return the MAX_PATHS paths that the fewest formulas have."""
    if len(counts) <= MAX_PATHS:
        return counts
    frequencies = store.terms.statistics(_terms("paths", counts), WHOLE).documents
    frequencies[frequencies == 0] = store.formulas + 1  # paths that no formula has select nothing
    texts = list(counts)
    return Counter({texts[at]: counts[texts[at]] for at in np.argsort(frequencies, kind="stable")[:MAX_PATHS].tolist()})


def _lowest_score(found: Found, depth: int) -> float:
    """Return the score that a formula outside the list cannot exceed."""
    return float(found.scores[-1]) if len(found.scores) == depth else 0.0


def self_score(tuples: Counter[str], store: FormulaStore) -> float:
    """Return the BM25 score of a formula against itself."""
    view = store.terms.count("tuples", WHOLE)
    frequencies = store.terms.statistics(_terms("tuples", tuples), WHOLE).documents.astype(np.float64)
    counts, mean = np.array(list(tuples.values()), np.float64), max(view.mean_length, 1e-9)
    saturated = saturation(counts, float(tuples.total()), mean, WEIGHTING.k1, WEIGHTING.b)
    return max(1e-9, float((counts * lucene_idf(view.documents, frequencies)) @ saturated))
