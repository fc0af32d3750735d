"""Formulas of the collection that are similar to those of a query, as terms by which posts are compared with it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.formula import Parsed
from porism.index.protocols import UNKNOWN, Term, TermIndex
from porism.index.schema import EVERY_FIELD, VISUAL_FAMILY
from porism.search.formulas.searcher import FormulaSearcher
from porism.search.query import ReadQuery, has_wildcards

MAX_FORMULAS = 5  # of a query that are searched, the largest ones
MIN_NODES = 3  # smaller formulas occur everywhere
DEPTH = 300  # similar formulas of each
BINDS = 1.0  # the similarity from which on a query with wildcards occurs in a formula; without an occurrence it is less
MAX_THREADS = 100  # more frequent formulas do not distinguish threads


class SimilarFormulas(NamedTuple):
    """Formulas similar to one of the query: the size of that one, the codes by which posts name them, and the similarity of each.

    `bound` are the visual ids of those to which a query with wildcards binds; `unmatched` counts those that were not matched for lack of time.
    """

    size: int
    codes: npt.NDArray[np.int64]
    similarities: npt.NDArray[np.float64]
    bound: tuple[int, ...] = ()
    unmatched: int = 0


def similar_formulas(query: ReadQuery, searcher: FormulaSearcher, index: TermIndex) -> tuple[SimilarFormulas, ...]:
    """Return the formulas most similar to each of the largest formulas of a query."""
    formulas = [one.parsed for one in query.formulas if one.parsed.operators.size() >= MIN_NODES]
    largest = sorted(formulas, key=lambda formula: -formula.operators.size())[:MAX_FORMULAS]
    return tuple(_similar(formula, searcher, index) for formula in largest)


def _similar(formula: Parsed, searcher: FormulaSearcher, index: TermIndex) -> SimilarFormulas:
    hits = searcher.most_similar(formula, DEPTH)
    found = index.statistics([Term(VISUAL_FAMILY, str(number)) for number in hits.visual_ids.tolist()], EVERY_FIELD)
    kept = np.flatnonzero((found.codes != UNKNOWN) & (found.documents <= MAX_THREADS))
    kept = kept[np.argsort(found.codes[kept], kind="stable")]
    bound = hits.visual_ids[kept][hits.scores[kept] >= BINDS].tolist() if has_wildcards(formula) else ()
    return SimilarFormulas(formula.operators.size(), found.codes[kept], hits.scores[kept], tuple(bound), hits.unmatched)
