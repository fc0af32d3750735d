"""A query formula made ready: its trees, the terms to ask for, and its rows of numbers in the labels of an index."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from porism.formula import Parsed, parse
from porism.formula.match.search import is_wildcard
from porism.index.analysis.classes import kind
from porism.index.analysis.features import Features, features
from porism.index.analysis.flat import FlatLayout
from porism.index.formulas.store import FormulaStore
from porism.search.formulas.alignment import Symbols
from porism.search.formulas.structure import Sectors, sectors


@dataclass(frozen=True, slots=True)
class FormulaQuery:
    """What every part of the search needs of the query."""

    parsed: Parsed
    features: Features
    tuples: Counter[str]
    layout: Symbols
    operators: Symbols
    sectors: Sectors

    @property
    def has_wildcards(self) -> bool:
        """Whether something in the query stands for anything."""
        return any(is_wildcard(label) for label in self.features.operators.labels)


def prepare(latex: str, store: FormulaStore) -> FormulaQuery:
    """Read a formula, any string, as a query to an index."""
    parsed = parse(latex, wildcards=True)
    found = features(parsed.layout, parsed.operators)
    numbers = _Numbers(store)
    operators = numbers.of(found.operators.labels)
    weights = numbers.weights(operators, store.operator_weights)
    return FormulaQuery(
        parsed,
        found,
        Counter(found.tuples),
        layout_symbols(found.layout, store),
        _symbols(found.operators.labels, operators, weights, [0] * len(operators)),
        sectors(found, operators, weights, store),
    )


def layout_symbols(layout: FlatLayout, store: FormulaStore) -> Symbols:
    """A layout tree in reading order as a row of numbers."""
    numbers = _Numbers(store)
    labels = numbers.of(layout.labels)
    return _symbols(layout.labels, labels, numbers.weights(labels, store.layout_weights), layout.edges)


def _symbols(labels: list[str], numbers: list[int], weights: list[float], edges: list[int]) -> Symbols:
    return Symbols(
        np.array(numbers, np.int32),
        np.array([kind(label) for label in labels], np.uint8),
        np.array(weights, np.float32),
        np.array(edges, np.uint8),
    )


class _Numbers:
    """Numbers for labels: those of the store, and new ones beyond them for labels that no formula has."""

    def __init__(self, store: FormulaStore) -> None:
        self._known = store.labels
        self._new: dict[str, int] = {}
        self._new_weight = store.new_label_weight

    def of(self, labels: list[str]) -> list[int]:
        """A number for each label."""
        known, size = self._known, len(self._known)
        return [
            known[label] if label in known else self._new.setdefault(label, size + len(self._new)) for label in labels
        ]

    def weights(self, numbers: list[int], weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
        """The weight of each label."""
        size = len(self._known)
        names = {number: label for label, number in self._new.items()}
        return [
            float(weights[at]) if at < size else 0.0 if is_wildcard(names[at]) else self._new_weight for at in numbers
        ]
