"""Highlights: which symbols of a formula in a post match which symbols of a formula in the query."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from porism.formula import Parsed
from porism.formula.match.matcher import find
from porism.index.analysis.terms import formula_terms
from porism.index.formulas.store import WHOLE
from porism.index.protocols import FormulaStore, Term
from porism.records import Binding
from porism.search.answers.terms import QueryTerms
from porism.search.display.parsed_formulas import ComparableFormula, parsed_formula
from porism.search.formulas.alignment import SymbolSequence
from porism.search.formulas.explain import readable_bindings, renamed_variables
from porism.search.formulas.query import layout_symbols
from porism.search.formulas.trace import matched_pairs

FORMULAS_KEPT = 500  # formulas of queries whose terms are kept for the next page
MAX_SYMBOLS = 80  # in larger formulas only an occurrence of the whole query formula is highlighted
WHOLE_TERMS = 2  # the first terms of a formula are the whole formula: as written, and with variables renamed
MIN_SHARE = 0.4  # of the symbols of the query formula that must match


@dataclass(frozen=True, slots=True)
class Highlight:
    """The match of a query formula in a formula of a post.

    `query_nodes` and `item_nodes` are the matching MathML elements on both sides, `share` is the share of the query's symbols that
    match, and `level` the strictest canonical level at which the query formula occurs (empty if it does not).
    """

    query_nodes: tuple[int, ...] = ()
    item_nodes: tuple[int, ...] = ()
    bindings: tuple[Binding, ...] = ()
    share: float = 0.0
    level: str = ""


NO_HIGHLIGHT = Highlight()


class QueryPattern(ComparableFormula):
    """A formula of the query, prepared to be compared with many formulas."""

    def __init__(self, parsed: Parsed, store: FormulaStore) -> None:
        super().__init__(parsed)
        self.symbols: SymbolSequence = layout_symbols(self.layout, store)


@lru_cache(FORMULAS_KEPT)
def query_pattern(formula: Parsed, store: FormulaStore) -> QueryPattern:
    """Return a formula of the query as a pattern. Every page of its query needs it again."""
    return QueryPattern(formula, store)


def highlight(pattern: QueryPattern, item: ComparableFormula, store: FormulaStore) -> Highlight:
    """Return the match of a query formula in a formula of a post; NO_HIGHLIGHT if they are not similar."""
    found = find(pattern.operators, item.operators).match
    if found is not None:
        query_nodes = [place for pair in found.pairs for place in pair.pattern_places]
        item_nodes = [place for pair in found.pairs for place in pair.target_places]
        bindings = readable_bindings(found.bindings)
        return Highlight(tuple(query_nodes), tuple(item_nodes), tuple(bindings), 1.0, found.level)
    labels = item.layout.labels
    if len(labels) > MAX_SYMBOLS or any(label not in store.labels for label in labels):
        return NO_HIGHLIGHT
    pairs = matched_pairs(pattern.symbols, layout_symbols(item.layout, store))
    share = len(pairs) / max(1, len(pattern.layout.labels))
    if share < MIN_SHARE:
        return NO_HIGHLIGHT
    query_nodes = [place for pair in pairs for place in pattern.layout.nodes[pair.query].places]
    item_nodes = [place for pair in pairs for place in item.layout.nodes[pair.item].places]
    return Highlight(
        tuple(query_nodes), tuple(item_nodes), tuple(renamed_variables(pattern.layout, item.layout, pairs)), share
    )


@lru_cache(FORMULAS_KEPT)
def _whole_terms(formula: Parsed) -> tuple[str, ...]:
    """Return the terms of a query formula as a whole. Every page of its query needs them again."""
    return tuple(formula_terms(formula)["parts"][:WHOLE_TERMS])


class SharedPart(NamedTuple):
    """A sub-expression of the query: its weight x idf, the query formula it comes from, and the one that it is as a whole (-1: none)."""

    weight: float
    formula: int
    whole: int = -1


class SharedParts:
    """The sub-expressions of a query by their codes in the formula index."""

    def __init__(self, parts: QueryTerms, store: FormulaStore, formulas: Sequence[Parsed] = ()) -> None:
        self._store = store
        whole = {term: number for number, formula in enumerate(formulas) for term in _whole_terms(formula)}
        codes = store.terms.statistics([Term("parts", text) for text in parts.texts], WHOLE).codes.tolist()
        rows = zip(codes, parts.scores.tolist(), parts.formulas, parts.texts, strict=True)
        self._parts = {
            code: SharedPart(weight, formula, whole.get(text, -1)) for code, weight, formula, text in rows if code >= 0
        }
        self._found: dict[int, list[SharedPart]] = {}

    def of(self, expression: int) -> list[SharedPart]:
        """Return the sub-expressions that an expression of the collection shares with the query, each once."""
        if not self._parts:
            return []
        found = self._found.get(expression)
        if found is None:
            codes = dict.fromkeys(self._store.part_codes([expression])[0])
            found = self._found[expression] = [self._parts[code] for code in codes if code in self._parts]
        return found


class Highlighter:
    """Highlights formulas of posts for one query; each comparison is made once."""

    def __init__(self, formulas: Sequence[Parsed], store: FormulaStore, limit: int) -> None:
        self._store = store
        self._formulas = formulas
        self._limit = limit
        self._highlights: dict[tuple[int, str], Highlight] = {}

    def match(self, number: int, latex: str) -> Highlight:
        """Return the match of the query formula with this number in a formula."""
        key = (number, latex)
        if key not in self._highlights:
            pattern = query_pattern(self._formulas[number], self._store)  # type: ignore[arg-type] # stores compare by identity
            self._highlights[key] = highlight(pattern, parsed_formula(latex), self._store)
        return self._highlights[key]

    def shared_parts(self, parts: QueryTerms) -> SharedParts:
        """Return a table that finds the sub-expressions which a formula of a post shares with the query."""
        return SharedParts(parts, self._store, self._formulas)

    def best_match(self, latex: str, formulas: Collection[int]) -> Highlight:
        """Return the best match of some query formulas, at most the limit, in a formula."""
        found = [self.match(number, latex) for number in sorted(formulas)[: self._limit]]
        return max(found, key=lambda one: (one.share, len(one.item_nodes)), default=NO_HIGHLIGHT)
