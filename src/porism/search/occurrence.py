"""Does the query occur in a formula, and how strictly? By the hashes of parts where possible, else by matching trees."""

from __future__ import annotations

from porism.formula.canonical import LEVELS, Level
from porism.formula.match import find
from porism.index.features import COMMUTATIVE, NORMALISED, RENAMED, WRITTEN
from porism.index.formula_store import FormulaStore
from porism.index.postings import Term
from porism.search.formula_query import FormulaQuery

# How many of the best formulas are matched tree by tree when hashes do not tell, and how hard each is tried.
LOOK = 150
BUDGET = 4_000
MOST = 10_000
_LETTERS = dict(zip((WRITTEN, NORMALISED, COMMUTATIVE, RENAMED), LEVELS, strict=True))


def holders(query: FormulaQuery, store: FormulaStore) -> dict[int, Level]:
    """The rows that have the whole query as a sub-expression, each with the strictest level at which they do."""
    found: dict[int, Level] = {}
    for term in _root_terms(query):
        for row in store.postings.search([Term("parts", term)], MOST).keys.tolist():
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


def matching(query: FormulaQuery, store: FormulaStore, rows: list[int]) -> dict[int, Level]:
    """Those of the rows in which the query occurs by a match of trees: wildcards bind, some operands of a sum suffice."""
    found: dict[int, Level] = {}
    pattern = query.parsed.operators
    for row in rows[:LOOK]:
        match = find(pattern, store.trees(row)[1], budget=BUDGET).match
        if match is not None:
            found[row] = match.level
    return found


def same(query: FormulaQuery, store: FormulaStore, row: int) -> bool:
    """Whether a formula as a whole is the query, up to spelling and the order of free operands."""
    start, end = store.span("operator", row)
    if store.columns["operator_label"][start:end].tolist() != query.operators.labels.tolist():
        return False
    found = find(query.parsed.operators, store.trees(row)[1], "commutative", whole=True)
    return found.match is not None or found.exhausted
