"""The traceback follows the recurrence of the alignment kernel: equal costs, and pairs that account for them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from porism.analysis.paths import NUMBER, OPERATOR, VARIABLE
from porism.search.formulas.alignment import (
    DELETE_COST,
    GAP_COST,
    INSERT_COST,
    LabelTable,
    SymbolSequence,
    cost_table,
    matched_pairs,
    similarities,
    substitution_cost,
)
from porism.store.records import SymbolSequences

KINDS = np.array([OPERATOR, OPERATOR, VARIABLE, VARIABLE, VARIABLE, NUMBER, NUMBER], np.uint8)
WEIGHTS = np.array([0.5, 0.7, 0.9, 1.1, 1.0, 0.8, 1.3], np.float32)
LABELS = st.lists(st.tuples(st.integers(0, len(KINDS) - 1), st.sampled_from((97, 110))), min_size=1, max_size=9)


def symbols(row: list[tuple[int, int]]) -> SymbolSequence:
    labels = np.array([label for label, _ in row], np.int32)
    return SymbolSequence(labels, KINDS[labels], WEIGHTS[labels], np.array([edge for _, edge in row], np.uint8))


@settings(max_examples=200, deadline=None)
@given(LABELS, LABELS)
def test_the_least_cost_equals_the_distance_of_the_kernel(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    query, item = symbols(one), symbols(other)
    costs, _ = cost_table(query, item)
    batch = SymbolSequences(np.array([0]), np.array([len(other)]), item.labels, item.edges)
    similarity = similarities(query, batch, LabelTable(KINDS, WEIGHTS), 1.0)[0]
    no_match = DELETE_COST * query.weights.sum() + INSERT_COST * item.weights.sum()
    assert max(0.0, 1 - costs[-1, -1].min() / no_match) == pytest.approx(similarity, abs=1e-4)


@settings(max_examples=200, deadline=None)
@given(LABELS, LABELS)
def test_the_pairs_account_for_the_least_cost(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    query, item = symbols(one), symbols(other)
    pairs = matched_pairs(query, item)
    assert pairs == sorted(pairs)
    assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
    least = cost_table(query, item)[0][-1, -1].min()
    unpaired = DELETE_COST * (query.weights.sum() - sum(query.weights[a] for a, _ in pairs))
    unpaired += INSERT_COST * (item.weights.sum() - sum(item.weights[b] for _, b in pairs))
    exact = unpaired + sum(substitution_cost(query, a, item, b) for a, b in pairs)
    assert exact <= least + 1e-4  # the rest is the cost of open gaps
    assert least - exact <= GAP_COST * (len(one) + len(other)) + 1e-4


def test_equal_sequences_are_paired_symbol_by_symbol() -> None:
    row = symbols([(2, 110), (0, 110), (3, 97)])
    assert matched_pairs(row, row) == [(0, 0), (1, 1), (2, 2)]
