"""Candidates of a formula query: the union of several searches over the posting lists, since each kind of term misses some formulas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.deadline import shared
from porism.search.formulas.query import FormulaQuery
from porism.store.embedded.formulas.store import WHOLE
from porism.store.protocols import Candidates as Found
from porism.store.protocols import FormulaStore, Term
from porism.store.weighting import BM25, lucene_idf, saturation

WEIGHTING = BM25()
PATH_DEPTH, PART_DEPTH = 200, 200
MAX_PATHS = 40  # the rarest paths of the query are searched; the frequent ones have long posting lists and change few candidates
# Terms that more than this share of all formulas contain select little, and their posting lists take most of the time in a large
# index. Below LARGE_INDEX formulas every term is searched, since time does not matter there.
MAX_DOCUMENT_SHARE = {"tuples": 0.5, "paths": 0.2}
LARGE_INDEX = 20_000
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


class CountedTerms(NamedTuple):
    """Distinct terms of one family, and how many formulas have each."""

    terms: list[Term]
    documents: npt.NDArray[np.int64]

    def some(self, positions: npt.NDArray[np.int64]) -> CountedTerms:
        """Return the terms at some positions."""
        return CountedTerms([self.terms[at] for at in positions.tolist()], self.documents[positions])


def find_candidates(
    query: FormulaQuery, store: FormulaStore, depth: int, extra_rows: list[int], executor: Executor
) -> Candidates:
    """Return the best `depth` formulas by tuples, more by paths and sub-expressions, and the extra rows."""
    own_tuples = count_terms("tuples", query.tuples, store)
    own_paths = _rarest(count_terms("paths", Counter(query.features.paths), store), store)
    searches = (
        _Search(_selective_terms("tuples", own_tuples, depth, store), depth),
        _Search(_selective_terms("paths", own_paths, PATH_DEPTH, store), PATH_DEPTH),
        _Search(_terms("parts", Counter(query.features.parts)), PART_DEPTH),
    )
    # The threads are for queries of usual size; a large one would keep others waiting.
    is_large = len(query.layout.labels) > MAX_SYMBOLS_IN_THREADS
    find = partial(_find, store)
    tuples, paths, parts = map(find, searches) if is_large else shared(executor, find, searches)
    rows = np.unique(np.concatenate((tuples.rows, paths.rows, parts.rows, np.array(extra_rows, np.int64))))
    scores = np.full(len(rows), UNLISTED_SHARE * _lowest_score(tuples, depth))
    scores[np.searchsorted(rows, tuples.rows)] = tuples.scores
    return Candidates(rows, scores / self_score(own_tuples, store))


def _terms(family: str, counts: Counter[str]) -> list[Term]:
    return [Term(family, text, float(count)) for text, count in counts.items()]


def count_terms(family: str, counts: Counter[str], store: FormulaStore) -> CountedTerms:
    """Return the terms of a family with their frequencies in the index."""
    terms = _terms(family, counts)
    return CountedTerms(terms, store.terms.statistics(terms, WHOLE).documents)


def _selective_terms(family: str, counted: CountedTerms, depth: int, store: FormulaStore) -> Sequence[Term]:
    """Return the terms of a family; in a large index without the most frequent ones, if the others have enough postings."""
    if store.formulas < LARGE_INDEX:
        return counted.terms
    rare = np.flatnonzero(counted.documents <= MAX_DOCUMENT_SHARE[family] * store.formulas)
    enough = counted.documents[rare].sum() >= MIN_POSTINGS * depth
    return counted.some(rare).terms if enough else counted.terms


def _rarest(paths: CountedTerms, store: FormulaStore) -> CountedTerms:
    """Return the MAX_PATHS paths that the fewest formulas have."""
    if len(paths.terms) <= MAX_PATHS:
        return paths
    # Paths that no formula has select nothing.
    frequencies = np.where(paths.documents == 0, store.formulas + 1, paths.documents)
    return paths.some(np.argsort(frequencies, kind="stable")[:MAX_PATHS])


def _lowest_score(found: Found, depth: int) -> float:
    """Return the score that a formula outside the list cannot exceed."""
    return float(found.scores[-1]) if len(found.scores) == depth else 0.0


def self_score(tuples: CountedTerms, store: FormulaStore) -> float:
    """Return the BM25 score of a formula with these tuples against itself."""
    view = store.terms.count("tuples", WHOLE)
    counts, mean = np.array([term.weight for term in tuples.terms], np.float64), max(view.mean_length, 1e-9)
    saturated = saturation(counts, float(counts.sum()), mean, WEIGHTING.k1, WEIGHTING.b)
    idf = lucene_idf(view.documents, tuples.documents.astype(np.float64))
    return max(1e-9, float((counts * idf) @ saturated))
