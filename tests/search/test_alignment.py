"""The alignment kernel: equal sequences have similarity 1, and each rule of the costs has its effect."""

from __future__ import annotations

import pytest

from formula_indexes import FormulaIndex
from porism.formula.binary import unpack
from porism.search.formulas.alignment import DELETE_COST, INSERT_COST, LANES, similarities

LATEX = ["a+b=c", "a+b", "x+y=z", "a+b=c+d+1", "a+b=2", "a-b=c", r"\sum_{k=0}^n k", "3+b=2"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> FormulaIndex:
    return FormulaIndex.make(tmp_path_factory.mktemp("alignment"), LATEX)


def similar(index: FormulaIndex, query: str, *latex: str) -> list[float]:
    context = index.searcher.analyse(query)
    return similarities(context.query.layout, index.formulas(*latex).layout, context.layout_labels, 1.0).tolist()


def test_equal_sequences(index: FormulaIndex) -> None:
    assert similar(index, "a+b=c", "a+b=c") == pytest.approx([1.0])


def test_an_inserted_symbol_costs_less_than_a_deleted_one(index: FormulaIndex) -> None:
    more, less = similar(index, "a+b=c", "a+b=c+d+1", "a+b")
    assert 1 > more > less > 0


def test_variables_may_be_replaced_but_operators_may_not(index: FormulaIndex) -> None:
    renamed, other = similar(index, "x+y=z", "a+b=c", "a-b=c")
    assert 1 > renamed > other


def test_a_variable_is_closer_to_a_variable_than_to_a_number(index: FormulaIndex) -> None:
    letter, number = similar(index, "a+b=z", "a+b=c", "a+b=2")
    assert letter > number


def test_similarities_are_between_0_and_1(index: FormulaIndex) -> None:
    for query in (*LATEX, "", r"\int", "q"):
        assert all(0 <= value <= 1 + 1e-6 for value in similar(index, query, *LATEX))


def test_the_trace_pairs_the_symbols_of_the_query(index: FormulaIndex) -> None:
    from porism.analysis.features import flat_layout
    from porism.search.formulas.alignment import matched_pairs
    from porism.search.formulas.query import layout_symbols
    from porism.search.formulas.searcher import renamed_variables

    query = index.searcher.analyse("a+b=c").query
    found = index.formulas("a+b=c+d+1")
    layout, _ = unpack(found.records.trees(found.numbers)[0])
    item = flat_layout(layout)
    pairs = matched_pairs(query.layout, layout_symbols(item, index.searcher.symbols))
    assert pairs == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]
    assert renamed_variables(query.features.layout, item, pairs) == []


def test_many_formulas_at_once_are_aligned_as_each_alone(index: FormulaIndex) -> None:
    """More formulas than LANES, of different lengths, in any order; one alone fills its lanes with copies of itself."""
    latex = [LATEX[number * 5 % len(LATEX)] for number in range(2 * LANES + 3)]
    for query in ("a+b=c", "x", r"\sum_{k=0}^n k+a+b=c-2"):
        together = similar(index, query, *latex)
        assert together == [similar(index, query, one)[0] for one in latex]


def test_the_similarity_is_that_of_the_cheapest_alignment(index: FormulaIndex) -> None:
    """The traceback computes the same costs with a table of its own."""
    from porism.search.formulas.alignment import cost_table

    context = index.searcher.analyse("x+b=2")
    query = context.query.layout
    for latex in LATEX:
        item = index.searcher.analyse(latex).query.layout
        distance = float(cost_table(query, item)[0][-1, -1].min())
        nothing = DELETE_COST * float(query.weights.sum()) + INSERT_COST * float(item.weights.sum())
        layout = index.formulas(latex).layout
        assert similarities(query, layout, context.layout_labels, 1.0)[0] == pytest.approx(
            max(0.0, 1 - distance / nothing), abs=1e-5
        )
