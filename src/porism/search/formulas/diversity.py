"""Diversity of results: formulas that differ only by names and numbers have the same shape, and are spread over the ranking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from porism.analysis.classes import NUMBER, VARIABLE
from porism.search.formulas.alignment import LabelTable
from porism.store.records import SymbolSequences


def ranks_within_shape(ordered: Sequence[int], operators: SymbolSequences, table: LabelTable) -> list[int]:
    """For each candidate, in the order given, count the candidates of the same shape before it."""
    seen: Counter[bytes] = Counter()
    ranks: list[int] = []
    for candidate in ordered:
        shape = _shape(candidate, operators, table)
        ranks.append(seen[shape])
        seen[shape] += 1
    return ranks


def _shape(candidate: int, operators: SymbolSequences, table: LabelTable) -> bytes:
    """Encode the labels of a candidate; variables by the order of their first occurrence, all numbers the same."""
    labels = operators.labels[operators.starts[candidate] : operators.ends[candidate]]
    variables: dict[int, int] = {}
    shape: list[int] = []
    for label, kind in zip(labels.tolist(), table.kinds[labels].tolist(), strict=True):
        if kind == VARIABLE:
            shape.append(-2 - variables.setdefault(label, len(variables)))
        else:
            shape.append(-1 if kind == NUMBER else label)
    return repr(shape).encode()
