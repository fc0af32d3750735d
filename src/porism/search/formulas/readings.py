"""Which reading of an ambiguous formula the index supports: `1/2x` is the one whose sub-expressions its posts contain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from porism.analysis.terms import formula_terms
from porism.formula import Parsed
from porism.search.query import QueryFormula, ReadQuery

FAMILY = "parts"


Documents = Callable[[Sequence[str]], Sequence[int]]  # how many documents have each sub-expression


def readings_of(query: ReadQuery) -> list[Parsed]:
    """Return all readings of the ambiguous formulas of a query."""
    return [one for formula in query.formulas if formula.others for one in (formula.parsed, *formula.others)]


def choose_readings(query: ReadQuery, documents: Documents) -> ReadQuery:
    """Return the query with the best supported reading of each formula. Without a difference the most usual reading stays."""
    if not any(formula.others for formula in query.formulas):
        return query
    return replace(query, formulas=tuple(_chosen(formula, documents) for formula in query.formulas))


def _chosen(formula: QueryFormula, documents: Documents) -> QueryFormula:
    if not formula.others:
        return formula
    return QueryFormula(best_reading((formula.parsed, *formula.others), documents), formula.field)


def best_reading(readings: Sequence[Parsed], documents: Documents) -> Parsed:
    """Return the reading that an index supports best, by the share of its sub-expressions that some document contains; of several the first."""
    terms = [part_terms(reading) for reading in readings]
    found = iter(documents([term for own in terms for term in own]))
    support = [sum(next(found) > 0 for _ in own) / len(own) if own else 0.0 for own in terms]
    return readings[int(np.argmax(support))]


def part_terms(formula: Parsed) -> list[str]:
    """Return the distinct sub-expressions of a formula as terms."""
    return list(dict.fromkeys(formula_terms(formula)[FAMILY]))
