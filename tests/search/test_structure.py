"""The structural score: one large common structure, with names that agree or are exchanged consistently."""

from __future__ import annotations

import pytest

from formula_indexes import FormulaIndex
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
def index(tmp_path_factory: pytest.TempPathFactory) -> FormulaIndex:
    return FormulaIndex.make(tmp_path_factory.mktemp("structure"), LATEX)


def scores(index: FormulaIndex, query: str, *latex: str) -> list[float]:
    analysed, paths = index.searcher.analyse(query).query, index.formulas(*latex).paths
    return structure_scores(analysed.path_groups, analysed.features.tree_paths.leaves, paths).tolist()


def test_a_formula_against_itself_is_1(index: FormulaIndex) -> None:
    for text in LATEX:
        assert scores(index, text, text) == pytest.approx([1.0])


def test_the_order_of_commutative_operands_does_not_matter(index: FormulaIndex) -> None:
    assert scores(index, "a^2+b^2=c^2", "b^2+a^2=c^2") == pytest.approx([1.0])


def test_equal_names_beat_consistent_renaming_and_that_beats_merged_names(index: FormulaIndex) -> None:
    same, renamed, merged = scores(index, "a^2+b^2=c^2", "a^2+b^2=c^2", "x^2+y^2=z^2", "x^2+x^2=x^2")
    assert same > renamed > merged > 0


def test_functions_of_one_class_share_structure(index: FormulaIndex) -> None:
    sine, cosine, other = scores(index, r"\sin x+1", r"\sin x+1", r"\cos x+1", "a+b+c")
    assert sine > cosine > other


def test_the_query_inside_a_larger_formula_scores_less_than_alone(index: FormulaIndex) -> None:
    alone, inside = scores(index, "a^2+b^2=c^2", "a^2+b^2=c^2", "a^2+b^2=c^2+d^2+e^2+f^2")
    assert alone > inside > 0.5


def test_formulas_without_common_structure_score_0(index: FormulaIndex) -> None:
    assert scores(index, r"\text{nothing}", "a+b+c") == [0.0]
