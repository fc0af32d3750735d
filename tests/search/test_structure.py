"""The structural score: one large common structure, with names that agree or are exchanged consistently."""

from __future__ import annotations

import numpy as np
import pytest

from formula_indexes import make_index, visual_id
from porism.search.formulas.batch import read_batch
from porism.search.formulas.candidates import Candidates
from porism.search.formulas.searcher import FormulaSearcher
from porism.search.formulas.structure import structure_scores

LATEX = [
    "a^2+b^2=c^2",
    "x^2+y^2=z^2",
    "x^2+x^2=x^2",
    "b^2+a^2=c^2",
    r"\frac{1}{a^2+b^2}",
    "a+b+c",
    r"\sin x+1",
    r"\cos x+1",
    "a^2+b^2=c^2+d^2+e^2+f^2",
]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> FormulaSearcher:
    return FormulaSearcher.open(make_index(tmp_path_factory.mktemp("structure"), LATEX))


def scores(searcher: FormulaSearcher, query: str, *latex: str) -> list[float]:
    store = searcher.store
    rows = store.rows(np.array([visual_id(store, text) for text in latex], np.int64))
    paths = read_batch(store, Candidates(rows, np.zeros(len(rows))), {}).paths
    analysed = searcher.analyse(query).query
    return structure_scores(analysed.path_groups, analysed.features.tree_paths.leaves, paths).tolist()


def test_a_formula_against_itself_is_1(searcher: FormulaSearcher) -> None:
    for text in LATEX:
        assert scores(searcher, text, text) == pytest.approx([1.0])


def test_the_order_of_commutative_operands_does_not_matter(searcher: FormulaSearcher) -> None:
    assert scores(searcher, "a^2+b^2=c^2", "b^2+a^2=c^2") == pytest.approx([1.0])


def test_equal_names_beat_consistent_renaming_and_that_beats_merged_names(searcher: FormulaSearcher) -> None:
    same, renamed, merged = scores(searcher, "a^2+b^2=c^2", "a^2+b^2=c^2", "x^2+y^2=z^2", "x^2+x^2=x^2")
    assert same > renamed > merged > 0


def test_functions_of_one_class_share_structure(searcher: FormulaSearcher) -> None:
    sine, cosine, other = scores(searcher, r"\sin x+1", r"\sin x+1", r"\cos x+1", "a+b+c")
    assert sine > cosine > other


def test_the_query_inside_a_larger_formula_scores_less_than_alone(searcher: FormulaSearcher) -> None:
    alone, inside = scores(searcher, "a^2+b^2=c^2", "a^2+b^2=c^2", "a^2+b^2=c^2+d^2+e^2+f^2")
    assert alone > inside > 0.5


def test_formulas_without_common_structure_score_0(searcher: FormulaSearcher) -> None:
    assert scores(searcher, r"\text{nothing}", "a+b+c") == [0.0]
