from __future__ import annotations

import numpy as np
import pytest

from formula_indexes import FormulaIndex
from porism.analysis.schema import FORMULA
from porism.search.formulas import features
from porism.search.formulas.query import analyse_query
from porism.search.retrieval.candidates import bounded
from porism.store.records import Term, TermQuery

LATEX = [f"x=y^{{{number}}}" for number in range(30)] + [rf"x=\sin({number}t)" for number in range(30)]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> FormulaIndex:
    return FormulaIndex.make(tmp_path_factory.mktemp("candidates"), LATEX)


def searched_terms(index: FormulaIndex, latex: str, depth: int) -> set[str]:
    counted = features.count_terms([analyse_query(latex, index.searcher.symbols)], index.snapshot)[0]
    return {term.text for term in features.selective_terms("tuples", counted.tuples, depth, index.searcher.size)}


def test_in_a_small_index_all_terms_are_searched(index: FormulaIndex) -> None:
    query = r"x=\sin(7t)"
    assert searched_terms(index, query, 1) == set(analyse_query(query, index.searcher.symbols).tuples)


def test_in_a_large_index_the_most_frequent_terms_are_skipped(
    index: FormulaIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = r"x=\sin(7t)"
    before = index.searcher.search(query, 5)
    everything = searched_terms(index, query, 1)
    monkeypatch.setattr(features, "LARGE_INDEX", 1)
    kept = searched_terms(index, query, 1)
    terms = [Term("tuples", text) for text in everything]
    frequency = dict(zip(everything, index.snapshot.statistics(terms, "formula").documents.tolist(), strict=True))
    assert kept == {text for text, number in frequency.items() if number <= index.searcher.size / 2}
    assert kept < everything
    assert [hit.visual_id for hit in index.searcher.search(query, 5)] == [hit.visual_id for hit in before]


def test_in_a_large_index_frequent_terms_are_searched_if_the_others_find_too_little(
    index: FormulaIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = r"x=\sin(7t)"
    everything = searched_terms(index, query, 1000)
    monkeypatch.setattr(features, "LARGE_INDEX", 1)
    assert searched_terms(index, query, 1000) == everything
    assert len(index.searcher.search(query, 1000)) == index.searcher.size


def test_the_self_score_agrees_with_the_posting_lists(index: FormulaIndex) -> None:
    query = analyse_query(LATEX[7], index.searcher.symbols)
    tuples = features.count_terms([query], index.snapshot)[0].tuples
    assert {term.text: term.weight for term in tuples.terms} == query.tuples
    found = index.snapshot.search([TermQuery(tuples.terms, FORMULA, 1)])[0]
    assert features.self_score(tuples, index.snapshot.info) == pytest.approx(float(found.scores[0]), rel=1e-9)


@pytest.mark.parametrize(
    ("lists", "kept"),
    [([5, 1, 9, 2], [1, 3]), ([5, 1, 2, 2], [1, 2, 3]), ([9, 8], [1]), ([3, 3, 3, 3], [0, 1]), ([1], [0]), ([], [])],
)
def test_a_search_reads_the_shortest_lists(lists: list[int], kept: list[int]) -> None:
    assert bounded(np.array(lists, np.int64), 7) == kept
