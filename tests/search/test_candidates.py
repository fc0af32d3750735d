from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from formula_indexes import make_index
from porism.search.answers.term_search import bounded
from porism.search.formulas import candidates
from porism.search.formulas.query import analyse_query
from porism.search.formulas.searcher import FormulaSearcher
from porism.store.embedded.formulas.store import WHOLE
from porism.store.protocols import Term
from porism.store.weighting import BM25

LATEX = [f"x=y^{{{number}}}" for number in range(30)] + [rf"x=\sin({number}t)" for number in range(30)]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> FormulaSearcher:
    return FormulaSearcher.open(make_index(tmp_path_factory.mktemp("candidates"), LATEX))


def searched_terms(searcher: FormulaSearcher, latex: str, depth: int) -> set[str]:
    tuples = candidates.count_terms("tuples", analyse_query(latex, searcher.store).tuples, searcher.store)
    return {term.text for term in candidates._selective_terms("tuples", tuples, depth, searcher.store)}


def test_in_a_small_index_all_terms_are_searched(searcher: FormulaSearcher) -> None:
    query = r"x=\sin(7t)"
    assert searched_terms(searcher, query, 1) == set(analyse_query(query, searcher.store).tuples)


def test_in_a_large_index_the_most_frequent_terms_are_skipped(
    searcher: FormulaSearcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = r"x=\sin(7t)"
    before = searcher.search(query, 5)
    everything = searched_terms(searcher, query, 1)
    monkeypatch.setattr(candidates, "LARGE_INDEX", 1)
    kept = searched_terms(searcher, query, 1)
    terms = [Term("tuples", text) for text in everything]
    frequency = dict(zip(everything, searcher.store.terms.statistics(terms, WHOLE).documents.tolist(), strict=True))
    assert kept == {text for text, number in frequency.items() if number <= searcher.store.formulas / 2}
    assert kept < everything
    assert [hit.visual_id for hit in searcher.search(query, 5)] == [hit.visual_id for hit in before]


def test_in_a_large_index_frequent_terms_are_searched_if_the_others_find_too_little(
    searcher: FormulaSearcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = r"x=\sin(7t)"
    everything = searched_terms(searcher, query, 1000)
    monkeypatch.setattr(candidates, "LARGE_INDEX", 1)
    assert searched_terms(searcher, query, 1000) == everything
    assert len(searcher.search(query, 1000)) == searcher.store.formulas


def test_the_self_score_agrees_with_the_posting_lists(searcher: FormulaSearcher) -> None:
    query = analyse_query(LATEX[7], searcher.store)
    found = searcher.store.terms.search(candidates._terms("tuples", Counter(query.tuples)), WHOLE, BM25(), 1)
    tuples = candidates.count_terms("tuples", query.tuples, searcher.store)
    assert candidates.self_score(tuples, searcher.store) == pytest.approx(float(found.scores[0]), rel=1e-9)


@pytest.mark.parametrize(
    ("lists", "kept"),
    [([5, 1, 9, 2], [1, 3]), ([5, 1, 2, 2], [1, 2, 3]), ([9, 8], [1]), ([3, 3, 3, 3], [0, 1]), ([1], [0]), ([], [])],
)
def test_a_search_reads_the_shortest_lists(lists: list[int], kept: list[int]) -> None:
    assert bounded(np.array(lists, np.int64), 7) == kept
