"""The alignment kernel: equal sequences have similarity 1, and each rule of the costs has its effect."""

from __future__ import annotations

import numpy as np
import pytest

from formula_indexes import make_index, visual_id
from porism.formula.binary import unpack
from porism.search.formulas.alignment import DELETE_COST, INSERT_COST, LANES, similarities
from porism.search.formulas.batch import read_batch
from porism.search.formulas.candidates import Candidates
from porism.search.formulas.searcher import FormulaSearcher

LATEX = ["a+b=c", "a+b", "x+y=z", "a+b=c+d+1", "a+b=2", "a-b=c", r"\sum_{k=0}^n k", "3+b=2"]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> FormulaSearcher:
    return FormulaSearcher.open(make_index(tmp_path_factory.mktemp("alignment"), LATEX))


def similar(searcher: FormulaSearcher, query: str, *latex: str) -> list[float]:
    store = searcher.store
    rows = store.rows(np.array([visual_id(store, text) for text in latex], np.int64))
    batch = read_batch(store, Candidates(rows, np.zeros(len(rows))), {})
    context = searcher.analyse(query)
    return similarities(context.query.layout, batch.layout, context.layout_labels, 1.0).tolist()


def test_equal_sequences(searcher: FormulaSearcher) -> None:
    assert similar(searcher, "a+b=c", "a+b=c") == pytest.approx([1.0])


def test_an_inserted_symbol_costs_less_than_a_deleted_one(searcher: FormulaSearcher) -> None:
    more, less = similar(searcher, "a+b=c", "a+b=c+d+1", "a+b")
    assert 1 > more > less > 0


def test_variables_may_be_replaced_but_operators_may_not(searcher: FormulaSearcher) -> None:
    renamed, other = similar(searcher, "x+y=z", "a+b=c", "a-b=c")
    assert 1 > renamed > other


def test_a_variable_is_closer_to_a_variable_than_to_a_number(searcher: FormulaSearcher) -> None:
    letter, number = similar(searcher, "a+b=z", "a+b=c", "a+b=2")
    assert letter > number


def test_similarities_are_between_0_and_1(searcher: FormulaSearcher) -> None:
    for query in (*LATEX, "", r"\int", "q"):
        assert all(0 <= value <= 1 + 1e-6 for value in similar(searcher, query, *LATEX))


def test_the_trace_pairs_the_symbols_of_the_query(searcher: FormulaSearcher) -> None:
    from porism.analysis.flat import flat_layout
    from porism.search.formulas.explain import renamed_variables
    from porism.search.formulas.query import layout_symbols
    from porism.search.formulas.trace import matched_pairs

    store = searcher.store
    query = searcher.analyse("a+b=c").query
    row = searcher.row(visual_id(store, "a+b=c+d+1"))
    layout, _ = unpack(store.trees([row])[0])
    item = flat_layout(layout)
    pairs = matched_pairs(query.layout, layout_symbols(item, store))
    assert pairs == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]
    assert renamed_variables(query.features.layout, item, pairs) == []


def test_many_formulas_at_once_are_aligned_as_each_alone(searcher: FormulaSearcher) -> None:
    """More formulas than LANES, of different lengths, in any order; one alone fills its lanes with copies of itself."""
    latex = [LATEX[number * 5 % len(LATEX)] for number in range(2 * LANES + 3)]
    for query in ("a+b=c", "x", r"\sum_{k=0}^n k+a+b=c-2"):
        together = similar(searcher, query, *latex)
        assert together == [similar(searcher, query, one)[0] for one in latex]


def test_the_similarity_is_that_of_the_cheapest_alignment(searcher: FormulaSearcher) -> None:
    """The traceback computes the same costs with a table of its own."""
    from porism.search.formulas.trace import cost_table

    store, context = searcher.store, searcher.analyse("x+b=2")
    query = context.query.layout
    for latex in LATEX:
        row = store.rows(np.array([visual_id(store, latex)], np.int64))
        item = searcher.analyse(latex).query.layout
        distance = float(cost_table(query, item)[0][-1, -1].min())
        nothing = DELETE_COST * float(query.weights.sum()) + INSERT_COST * float(item.weights.sum())
        layout = store.fetch(row).layout
        assert similarities(query, layout, context.layout_labels, 1.0)[0] == pytest.approx(
            max(0.0, 1 - distance / nothing), abs=1e-5
        )
