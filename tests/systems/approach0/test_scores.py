"""Path groups and scores of Approach Zero; the expected values were computed by pya0 0.3.7 on the same small
collections."""

from __future__ import annotations

import math

import numpy as np
import pytest

from porism.systems.approach0.formula_index import index_formulas, read_paths
from porism.systems.approach0.structure import StructureSearch
from porism.systems.approach0.text_index import WordDocument, engine_words, index_words, porter_words, sentences


@pytest.mark.parametrize(
    ("latex", "groups"),
    [
        ("a", 1), ("a+b", 3), ("1+1", 1), (r"\frac{a}{b}", 4), ("a,b,c", 8), (r"\sum_{i}^n a", 10), ("((a+b)c)", 9), ("abcdef", 1),
        ("+".join("a" * 16) + "+(b=b=b=-b)", 7), ("+".join("a" * 16) + "+(b=b=b=b)", 2), ("+".join("a" * 63) + "+(" + "=".join("b" * 17) + ")", 4),
    ],
)  # fmt: skip
def test_number_of_path_groups(latex: str, groups: int) -> None:
    paths = read_paths(latex)
    assert paths is not None
    assert len(paths.groups) == groups


def test_a_query_keeps_the_groups_of_small_nodes() -> None:
    paths = read_paths("abcdef", is_query=True)
    assert paths is not None
    assert len(paths.groups) == 7


def engine_scores(documents: list[str], query: str) -> list[float]:
    search = StructureSearch(index_formulas(documents), np.ones(len(documents), np.int64))
    return [round(score, 3) for score in (2.45 * search.scores(query).score + math.log(0.3)).tolist()]


def test_scores_of_formulas() -> None:
    documents = ["a+b", "a+c", "x^2", "a+b", r"\frac{a}{b}"]
    assert engine_scores(documents, "a+b") == [6.470, 6.451, 0.002, 6.470, 0.014]
    assert engine_scores(documents, "x") == [0.002, 0.002, 0.014, 0.002, 0.002]


@pytest.mark.parametrize(("formula", "similarity"), [("a<b", 0.94), (r"a\le b", 0.94), ("a=c", 0.95), ("a=b", 1.0)])
def test_similarity_of_symbols(formula: str, similarity: float) -> None:
    search = StructureSearch(index_formulas(["a=b", formula]), np.ones(2, np.int64))
    assert search.scores("a=b").symbols[1] == pytest.approx(similarity)


def test_a_query_that_cannot_be_read_finds_nothing() -> None:
    search = StructureSearch(index_formulas(["a=b"]), np.ones(1, np.int64))
    assert not search.scores("(a").score.any()
    assert search.upper_bound("(a") == 0.0
    assert not StructureSearch(index_formulas([]), np.ones(0, np.int64)).scores("a").score.any()


def words(*documents: str) -> list[WordDocument]:
    texts = [engine_words(document) for document in documents]
    return [WordDocument([(word, place) for place, word in enumerate(text)], len(text)) for text in texts]


@pytest.mark.parametrize(
    ("query", "score"),
    [("alpha", 0.182), ("alpha beta", 2.369), ("alpha gamma", 1.941), ("alpha delta", 1.722), ("alpha alpha", 1.569), ("alpha beta gamma", 3.755)],
)  # fmt: skip
def test_scores_of_words(query: str, score: float) -> None:
    index = index_words(words("alpha, beta. gamma! delta"))
    found = index.scores(engine_words(query))[0] + index.proximity(engine_words(query))
    assert found[0] == pytest.approx(score, abs=0.0006)


def test_lengths_of_documents_count() -> None:
    index = index_words(words("alpha " + "zeta " * 20, "beta " + "zeta " * 20, "gamma"))
    assert (index.scores(["alpha"])[0] + math.log(0.3))[0] == pytest.approx(1.291, abs=0.0006)
    assert (index.scores(["gamma"])[0] + math.log(0.3))[2] == pytest.approx(2.770, abs=0.0006)


def test_words_of_the_engine() -> None:
    text = "don't well-known x2 __ANSWER__ naïve 3.14"
    assert engine_words(text) == ["don", "t", "well", "known", "x2", "__answer__", "na", "ve", "3", "14"]


def test_porter_stems_words_at_the_end_of_sentences_and_parts_of_compounds() -> None:
    pytest.importorskip("nltk")
    assert porter_words("The numbers. Dividing non-zero rings, e.g. fields!") == [
        "the",
        "number",
        "divid",
        "non",
        "zero",
        "ring",
        "e",
        "g",
        "field",
    ]
    assert sentences("See e.g. Euler. Then stop.") == ["See e.g. Euler.", "Then stop."]
