"""The alignment kernel: equal rows are 1, and each rule of its costs shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from formula_indexes import make_index, visual_id
from porism.search.formulas.alignment import similarities
from porism.search.formulas.query import prepare
from porism.search.formulas.searcher import FormulaSearcher

LATEX = ["a+b=c", "a+b", "x+y=z", "a+b=c+d+1", "a+b=2", "a-b=c", r"\sum_{k=0}^n k", "3+b=2"]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> FormulaSearcher:
    return FormulaSearcher.open(make_index(tmp_path_factory.mktemp("alignment"), LATEX))


def similar(searcher: FormulaSearcher, query: str, *latex: str) -> list[float]:
    store = searcher.store
    rows = np.array([store.row(visual_id(store, text)) for text in latex], np.int64)
    return similarities(prepare(query, store).layout, searcher._layout, rows, 1.0).tolist()


def test_equal_rows(searcher: FormulaSearcher) -> None:
    assert similar(searcher, "a+b=c", "a+b=c") == pytest.approx([1.0])


def test_saying_more_is_better_than_saying_less(searcher: FormulaSearcher) -> None:
    more, less = similar(searcher, "a+b=c", "a+b=c+d+1", "a+b")
    assert 1 > more > less > 0


def test_letters_may_be_renamed_and_operators_not(searcher: FormulaSearcher) -> None:
    renamed, other = similar(searcher, "x+y=z", "a+b=c", "a-b=c")
    assert 1 > renamed > other


def test_a_letter_for_a_letter_is_nearer_than_a_number_for_a_letter(searcher: FormulaSearcher) -> None:
    letter, number = similar(searcher, "a+b=z", "a+b=c", "a+b=2")
    assert letter > number


def test_values_stay_between_0_and_1(searcher: FormulaSearcher) -> None:
    for query in (*LATEX, "", r"\int", "q"):
        assert all(0 <= value <= 1 + 1e-6 for value in similar(searcher, query, *LATEX))


def test_the_kernel_is_the_recurrence_of_the_trace(searcher: FormulaSearcher, tmp_path: Path) -> None:
    """The pairs that the explanation walks back cost what the kernel says."""
    from porism.index.analysis.flat import flat_layout
    from porism.search.formulas.explain import aligned

    store = searcher.store
    query = prepare("a+b=c", store)
    layout, _ = store.trees(store.row(visual_id(store, "a+b=c+d+1")))
    lit = aligned(query.features.layout, query.layout, flat_layout(layout), store)
    assert lit.pairs == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]
    assert lit.names == []
