"""Does the query occur in a formula, and how strictly? By the hashes of parts where possible, else by matching trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.formula.canonical.forms import LEVELS, Level
from porism.formula.match.matcher import Ready, find
from porism.formula.match.search import is_wildcard
from porism.index.analysis.classes import trait
from porism.index.analysis.features import COMMUTATIVE, MAX_TERM_STEPS, NORMALISED, RENAMED, WRITTEN
from porism.index.formulas.store import FormulaStore
from porism.index.postings import Term
from porism.search.formulas.query import FormulaQuery

Array = npt.NDArray[Any]

# How many of the best formulas are matched tree by tree when hashes do not tell, and how hard each is tried.
LOOK = 300
BUDGET = 4_000
MOST_LIKELY = 500  # rows of each kind that are taken for matching because they have all paths of the query
_LETTERS = dict(zip((WRITTEN, NORMALISED, COMMUTATIVE, RENAMED), LEVELS, strict=True))


def holders(query: FormulaQuery, store: FormulaStore, most: int) -> dict[int, Level]:
    """The rows that have the whole query as a sub-expression, each with the strictest level at which they do; of each level so many,
    the shortest formulas first."""
    found: dict[int, Level] = {}
    for term in _root_terms(query):
        for row in store.postings.search([Term("parts", term)], most).keys.tolist():
            found.setdefault(row, _LETTERS[term[0]])
    return found


def _root_terms(query: FormulaQuery) -> list[str]:
    """The hashes of the query as a whole, the strictest first; none for a single symbol."""
    tree = query.features.operators
    if len(tree.labels) == 1:
        return []
    terms = query.features.parts
    # The parts of the written tree come first, then those of the normal form; both begin with the whole.
    written = sum(term[0] == WRITTEN for term in terms)
    return [*terms[: min(written, 1)], *terms[written : written + 3]]


def likely(query: FormulaQuery, store: FormulaStore) -> list[int]:
    """Rows that have all paths of the query, first those with the same symbols: the query may occur in them as some operands of a sum, a
    product or a chain of relations, for which there is no hash. Short formulas come first."""
    found: dict[int, None] = {}
    ways, tree = query.features.ways, query.features.operators
    near = np.flatnonzero(ways.steps <= MAX_TERM_STEPS)
    free = trait(tree.labels[0]).free  # else the operands may have other places in a longer row
    named = [
        at
        for at, (above, below) in enumerate(zip(ways.above[near].tolist(), ways.below[near].tolist(), strict=True))
        if below and (above or free) and not is_wildcard(tree.labels[below])
    ]
    for symbol in (1, 0):  # of the two terms of a path the second has the symbol at its end
        terms = [Term("paths", text) for text in {query.features.paths[2 * at + symbol]: None for at in named}]
        if terms:
            rows = store.postings.search(terms, MOST_LIKELY, required=terms).keys.tolist()
            found |= dict.fromkeys(rows)
    return list(found)


def matching(query: FormulaQuery, store: FormulaStore, rows: Sequence[int]) -> dict[int, Level]:
    """Those of the rows in which the query occurs by a match of trees: wildcards bind, some operands of a sum suffice. The first rows that
    have the symbols for it are looked at."""
    found: dict[int, Level] = {}
    pattern = Ready(query.parsed.operators)
    for row in _able(pattern, store, np.array(rows, np.int64))[:LOOK].tolist():
        match = find(pattern, store.trees(row)[1], budget=BUDGET).match
        if match is not None:
            found[row] = match.level
    return found


def _able(pattern: Ready, store: FormulaStore, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Those of the rows that have all labels which the pattern needs even under other names, in their order."""
    needed = [store.labels.get(label, -1) for label in pattern.needs("renamed")]
    able = np.zeros(len(rows), np.bool_)
    if -1 not in needed:
        columns = store.columns
        have_all(columns["operator_at"], columns["operator_label"], rows, np.array(needed, np.int32), able)
    return rows[able]


@compiled
def have_all(ends: Array, labels: Array, rows: Array, needed: Array, out: Array) -> None:
    """Whether each row of labels has all that are needed."""
    for number in range(len(rows)):
        row = rows[number]
        start = ends[row - 1] if row > 0 else 0
        out[number] = True
        for want in needed:
            at = start
            while at < ends[row] and labels[at] != want:
                at += 1
            if at == ends[row]:
                out[number] = False
                break


def same(query: FormulaQuery, store: FormulaStore, row: int) -> bool:
    """Whether a formula as a whole is the query, up to spelling and the order of free operands."""
    start, end = store.span("operator", row)
    if store.columns["operator_label"][start:end].tolist() != query.operators.labels.tolist():
        return False
    found = find(query.parsed.operators, store.trees(row)[1], "commutative", whole=True)
    return found.match is not None or found.exhausted
