"""A formula query analysed for an index: its trees, its terms, and its symbols as label ids of the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from porism.analysis.features import Features, FlatLayout
from porism.analysis.paths import symbol_kind
from porism.analysis.terms import formula_terms
from porism.formula import Parsed, parse
from porism.formula.match.backtracking import is_wildcard
from porism.search.formulas.alignment import SymbolSequence
from porism.search.formulas.structure import PathGroups, group_paths
from porism.search.query import QueryFormula, ReadQuery, query_features
from porism.store.protocols import SymbolTable


@dataclass(frozen=True, slots=True)
class FormulaQuery:
    """A formula query, as the candidate searches and the re-ranking features read it."""

    parsed: Parsed
    features: Features
    tuples: Counter[str]
    layout: SymbolSequence
    operators: SymbolSequence
    path_groups: PathGroups

    @property
    def has_wildcards(self) -> bool:
        """Whether the query contains a wildcard."""
        return any(is_wildcard(label) for label in self.features.operators.labels)


def analyse_query(formula: str | Parsed, symbols: SymbolTable) -> FormulaQuery:
    """Analyse a formula for an index: LaTeX, which may be any string, or a parsed formula."""
    parsed = parse(formula, wildcards=True) if isinstance(formula, str) else formula
    found = query_features([parsed])[0]
    label_ids = _LabelIds(symbols)
    operators = label_ids.intern(found.operators.labels)
    weights = label_ids.weights(operators, symbols.operator_weights)
    return FormulaQuery(
        parsed,
        found,
        Counter(found.tuples),
        layout_symbols(found.layout, symbols),
        _symbols(found.operators.labels, operators, weights, [0] * len(operators)),
        group_paths(found, operators, weights, symbols),
    )


def layout_symbols(layout: FlatLayout, symbols: SymbolTable) -> SymbolSequence:
    """Return a layout tree in reading order as a symbol sequence."""
    known = known_symbols(layout, symbols)  # as for every formula of the index
    if known is not None:
        return known
    label_ids = _LabelIds(symbols)
    labels = label_ids.intern(layout.labels)
    return _symbols(layout.labels, labels, label_ids.weights(labels, symbols.layout_weights), layout.edges)


def known_symbols(layout: FlatLayout, symbols: SymbolTable) -> SymbolSequence | None:
    """Return a layout tree as a symbol sequence; None if it has a label that no formula of the index has."""
    try:
        ids = np.array(list(map(symbols.labels.__getitem__, layout.labels)), np.int32)
    except KeyError:
        return None
    weights = symbols.layout_weights[ids].astype(np.float32)
    kinds = np.array(list(map(symbol_kind, layout.labels)), np.uint8)
    return SymbolSequence(ids, kinds, weights, np.array(layout.edges, np.uint8))


def _symbols(labels: list[str], ids: list[int], weights: list[float], edges: list[int]) -> SymbolSequence:
    return SymbolSequence(
        np.array(ids, np.int32),
        np.array([symbol_kind(label) for label in labels], np.uint8),
        np.array(weights, np.float32),
        np.array(edges, np.uint8),
    )


class _LabelIds:
    """Ids of labels: those of the store, and new ones beyond them for labels that no indexed formula has."""

    def __init__(self, symbols: SymbolTable) -> None:
        self._known = symbols.labels
        self._new: dict[str, int] = {}
        self._new_weight = symbols.unseen_label_weight

    def intern(self, labels: list[str]) -> list[int]:
        """Return the id of each label."""
        known, size = self._known, len(self._known)
        return [
            known[label] if label in known else self._new.setdefault(label, size + len(self._new)) for label in labels
        ]

    def weights(self, ids: list[int], weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
        """Return the weight of each label; wildcards weigh nothing."""
        size = len(self._known)
        names = {new_id: label for label, new_id in self._new.items()}
        return [float(weights[at]) if at < size else 0.0 if is_wildcard(names[at]) else self._new_weight for at in ids]


FAMILY = "parts"


Documents = Callable[[Sequence[str]], Sequence[int]]  # how many documents have each sub-expression


def readings_of(query: ReadQuery) -> list[Parsed]:
    """Return all readings of the ambiguous formulas of a query."""
    return [one for formula in query.formulas if formula.others for one in (formula.parsed, *formula.others)]


def choose_readings(query: ReadQuery, documents: Documents) -> ReadQuery:
    """Return the query with the best supported reading of each formula; of equals the most usual one."""
    if not any(formula.others for formula in query.formulas):
        return query
    return replace(query, formulas=tuple(_chosen(formula, documents) for formula in query.formulas))


def _chosen(formula: QueryFormula, documents: Documents) -> QueryFormula:
    if not formula.others:
        return formula
    return QueryFormula(best_reading((formula.parsed, *formula.others), documents), formula.field)


def best_reading(readings: Sequence[Parsed], documents: Documents) -> Parsed:
    """Return the first of the readings with the largest share of sub-expressions that some document contains."""
    terms = [part_terms(reading) for reading in readings]
    found = iter(documents([term for own in terms for term in own]))
    support = [sum(next(found) > 0 for _ in own) / len(own) if own else 0.0 for own in terms]
    return readings[int(np.argmax(support))]


def part_terms(formula: Parsed) -> list[str]:
    """Return the distinct sub-expressions of a formula as terms."""
    return list(dict.fromkeys(formula_terms(formula)[FAMILY]))
