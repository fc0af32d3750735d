"""The trace is the recurrence of the kernel, and what it pairs costs what the kernel says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from porism.index.analysis.classes import NUMBER, OPERATOR, VARIABLE
from porism.search.formulas.alignment import DELETE, INSERT, OPEN, Rows, Symbols, similarities
from porism.search.formulas.trace import exchange, fill, paired

KINDS = np.array([OPERATOR, OPERATOR, VARIABLE, VARIABLE, VARIABLE, NUMBER, NUMBER], np.uint8)
WEIGHTS = np.array([0.5, 0.7, 0.9, 1.1, 1.0, 0.8, 1.3], np.float32)
LABELS = st.lists(st.tuples(st.integers(0, len(KINDS) - 1), st.sampled_from((97, 110))), min_size=1, max_size=9)


def symbols(row: list[tuple[int, int]]) -> Symbols:
    labels = np.array([label for label, _ in row], np.int32)
    return Symbols(labels, KINDS[labels], WEIGHTS[labels], np.array([edge for _, edge in row], np.uint8))


@settings(max_examples=200, deadline=None)
@given(LABELS, LABELS)
def test_the_least_cost_is_the_kernels_distance(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    asked, found = symbols(one), symbols(other)
    costs, _ = fill(asked, found)
    rows = Rows(np.array([len(other)]), found.labels, found.edges, KINDS, WEIGHTS)
    similarity = similarities(asked, rows, np.array([0]), 1.0)[0]
    whole = DELETE * asked.weights.sum() + INSERT * found.weights.sum()
    assert max(0.0, 1 - costs[-1, -1].min() / whole) == pytest.approx(similarity, abs=1e-4)


@settings(max_examples=200, deadline=None)
@given(LABELS, LABELS)
def test_the_pairs_cost_what_was_promised(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    asked, found = symbols(one), symbols(other)
    pairs = paired(asked, found)
    assert pairs == sorted(pairs)
    assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
    least = fill(asked, found)[0][-1, -1].min()
    unpaired = DELETE * (asked.weights.sum() - sum(asked.weights[a] for a, _ in pairs))
    unpaired += INSERT * (found.weights.sum() - sum(found.weights[b] for _, b in pairs))
    exact = unpaired + sum(exchange(asked, a, found, b) for a, b in pairs)
    assert exact <= least + 1e-4  # opened gaps cost the rest
    assert least - exact <= OPEN * (len(one) + len(other)) + 1e-4


def test_equal_rows_are_paired_one_by_one() -> None:
    row = symbols([(2, 110), (0, 110), (3, 97)])
    assert paired(row, row) == [(0, 0), (1, 1), (2, 2)]
