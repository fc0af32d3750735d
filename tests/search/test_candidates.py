from __future__ import annotations

from collections import Counter

import pytest

from formula_indexes import make_index
from porism.search.formulas import candidates
from porism.search.formulas.query import prepare
from porism.search.formulas.searcher import FormulaSearcher

LATEX = [f"x=y^{{{number}}}" for number in range(30)] + [rf"x=\sin({number}t)" for number in range(30)]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> FormulaSearcher:
    return FormulaSearcher.open(make_index(tmp_path_factory.mktemp("candidates"), LATEX))


def asked(searcher: FormulaSearcher, latex: str, depth: int) -> set[str]:
    tuples = prepare(latex, searcher.store).tuples
    return {term.text for term in candidates._telling("tuples", tuples, depth, searcher.store)}


def test_a_small_index_is_asked_for_all_terms(searcher: FormulaSearcher) -> None:
    query = r"x=\sin(7t)"
    assert asked(searcher, query, 1) == set(prepare(query, searcher.store).tuples)


def test_a_large_index_is_not_asked_for_what_most_formulas_have(
    searcher: FormulaSearcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = r"x=\sin(7t)"
    before = searcher.search(query, 5)
    everything = asked(searcher, query, 1)
    monkeypatch.setattr(candidates, "LARGE", 1)
    kept = asked(searcher, query, 1)
    frequency = {text: searcher.store.postings.document_frequency("tuples", text) for text in everything}
    assert kept == {text for text, number in frequency.items() if number <= searcher.store.formulas / 2}
    assert kept < everything
    assert [hit.visual_id for hit in searcher.search(query, 5)] == [hit.visual_id for hit in before]


def test_a_large_index_is_asked_for_all_terms_where_the_others_find_too_little(
    searcher: FormulaSearcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = r"x=\sin(7t)"
    everything = asked(searcher, query, 1000)
    monkeypatch.setattr(candidates, "LARGE", 1)
    assert asked(searcher, query, 1000) == everything
    assert len(searcher.search(query, 1000)) == searcher.store.formulas


def test_a_formula_against_itself_scores_as_the_postings_say(searcher: FormulaSearcher) -> None:
    query = prepare(LATEX[7], searcher.store)
    found = searcher.store.postings.search(candidates._terms("tuples", Counter(query.tuples)), 1)
    assert candidates.self_score(query.tuples, searcher.store) == pytest.approx(float(found.scores[0]), rel=0.2)
