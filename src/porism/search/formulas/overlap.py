"""Formulas of posts that are similar to those of a query, as terms by which posts are compared with it.

Only formulas of the best candidate threads are compared, so that the cost does not depend on the size of the
collection. A formula with wildcards is searched in the whole index, since no other term finds what it binds to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import VISUAL_FAMILY
from porism.formula import Parsed
from porism.search.formulas.searcher import FormulaSearcher, ScoredFormulas
from porism.search.query import ReadQuery, has_wildcards
from porism.store.records import UNKNOWN, TermLookup

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
MAX_FORMULAS = 5  # of a query that are compared, the largest ones
MIN_NODES = 3  # smaller formulas occur everywhere
THREADS_COMPARED = 200  # best candidate threads whose formulas are compared with each formula of the query
FORMULAS_COMPARED = 100  # formulas of them, those with the most common symbols, whose trees are aligned
# Formulas with this similarity count, and if there are none, those with this share of the largest similarity.
SIMILAR, NEAREST_SHARE = 0.75, 0.8
DEPTH = 300  # formulas that are found for one with wildcards
BINDS = 1.0  # the similarity from which on a query with wildcards occurs in a formula; without an occurrence it is less
MAX_THREADS = 100  # more frequent formulas do not distinguish threads


class SimilarFormulas(NamedTuple):
    """Formulas similar to one of the query: the size of that one, the keys by which posts name them, and the similarity
    of each."""

    size: int
    keys: Ints
    similarities: npt.NDArray[np.float64]


class BoundFormulas(NamedTuple):
    """Formulas similar to one with wildcards, the visual ids of those to which it binds, and how many were not matched
    for lack of time."""

    similar: SimilarFormulas
    visual_ids: tuple[int, ...]
    unmatched: int = 0


def largest_formulas(query: ReadQuery, *, wildcards: bool) -> list[Parsed]:
    """Return those of the largest formulas of a query that have wildcards, or those that have none."""
    formulas = [one.parsed for one in query.formulas if one.parsed.operators.size() >= MIN_NODES]
    largest = sorted(formulas, key=lambda formula: -formula.operators.size())[:MAX_FORMULAS]
    return [formula for formula in largest if has_wildcards(formula) == wildcards]


def has_compared_formulas(query: ReadQuery) -> bool:
    """Return whether a query has formulas that are compared as a whole."""
    return any(one.parsed.operators.size() >= MIN_NODES for one in query.formulas)


def compare_formulas(
    query: ReadQuery, keys: Ints, lookup: TermLookup, searcher: FormulaSearcher
) -> tuple[SimilarFormulas, ...]:
    """Compare the largest formulas of a query with formulas of posts, given by the keys by which posts name them."""
    formulas = largest_formulas(query, wildcards=False)
    if not formulas or not len(keys):
        return ()
    keys = keys[lookup.documents(VISUAL_FAMILY, keys) <= MAX_THREADS]
    numbers = lookup.formulas(keys)
    order = np.argsort(numbers, kind="stable")
    order = order[numbers[order] != UNKNOWN]
    keys, numbers = keys[order], numbers[order]
    compared = searcher.comparison(numbers, FORMULAS_COMPARED)
    return tuple(_most_similar(formula, keys, *compared.compare(formula)) for formula in formulas)


def _most_similar(formula: Parsed, keys: Ints, positions: Ints, similarities: Floats) -> SimilarFormulas:
    """Keep the formulas that are similar, or if none is, those that come nearest."""
    least = min(SIMILAR, NEAREST_SHARE * float(similarities.max(initial=0.0)))
    kept = np.flatnonzero(similarities >= least)
    return SimilarFormulas(formula.operators.size(), keys[positions[kept]], similarities[kept])


def bound_formulas(query: ReadQuery, searcher: FormulaSearcher) -> tuple[BoundFormulas, ...]:
    """Return the formulas of the whole index that are most similar to those with wildcards of a query."""
    formulas = largest_formulas(query, wildcards=True)
    return tuple(map(_bound, formulas, searcher.most_similar(formulas, DEPTH)))


def _bound(formula: Parsed, hits: ScoredFormulas) -> BoundFormulas:
    found = hits.usage
    kept = np.flatnonzero((found.keys != UNKNOWN) & (found.documents <= MAX_THREADS))
    similar = SimilarFormulas(formula.operators.size(), found.keys[kept], hits.scores[kept])
    bound = hits.visual_ids[kept][hits.scores[kept] >= BINDS].tolist()
    return BoundFormulas(similar, tuple(bound), hits.unmatched)
