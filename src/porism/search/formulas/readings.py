"""Which reading of an ambiguous formula the index supports: `1/2x` is the one whose sub-expressions its posts contain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from porism.analysis.schema import THREAD, View
from porism.analysis.terms import formula_terms
from porism.formula import Parsed
from porism.search.query import QueryFormula, ReadQuery
from porism.store.protocols import UNKNOWN, Term, TermIndex

FAMILY = "parts"


def choose_readings(query: ReadQuery, index: TermIndex) -> ReadQuery:
    """Return the query with the best supported reading of each formula. Without a difference the most usual reading stays."""
    if not any(formula.others for formula in query.formulas):
        return query
    return replace(query, formulas=tuple(_chosen(formula, index) for formula in query.formulas))


def _chosen(formula: QueryFormula, index: TermIndex) -> QueryFormula:
    if not formula.others:
        return formula
    return QueryFormula(best_reading((formula.parsed, *formula.others), index), formula.field)


def best_reading(readings: Sequence[Parsed], index: TermIndex, view: View = THREAD) -> Parsed:
    """Return the reading that an index supports best; of several the first."""
    return readings[int(np.argmax([_support(index, reading, view) for reading in readings]))]


def _support(index: TermIndex, formula: Parsed, view: View) -> float:
    """Return the share of the formula's sub-expressions that some document contains."""
    terms: Sequence[str] = list(dict.fromkeys(formula_terms(formula)[FAMILY]))
    if not terms:
        return 0.0
    known = index.statistics([Term(FAMILY, term) for term in terms], view).codes != UNKNOWN
    return float(known.sum()) / len(terms)
