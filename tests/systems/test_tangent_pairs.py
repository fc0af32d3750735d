"""Symbol pairs and the first stage of Tangent-S."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from bench.verify.values import read_operators

from porism.formula import from_tangent, parse
from porism.formula.binary import Trees
from porism.systems.tangent.forest import MAX_NODES, MAX_OPERANDS, ForestBuilder
from porism.systems.tangent.retriever import TangentSearch, best_trees, index_pairs, pair_codes, regression

from .tangent_cases import make_trees

LAYOUT = "[V!x[+[N!1[=[V!y]]]],a[N!2]]"
OPERATORS = "[U!eq,0[U!plus,0[O!SUP,0[V!x],1[N!2]],1[N!1]],1[V!y]]"


def codes_of(*texts: str, operators: bool = False, always_end: bool = False) -> list[npt.NDArray[np.uint64]]:
    builder = ForestBuilder()
    for text in texts:
        builder.add(read_operators(text) if operators else from_tangent(text))
    forest, labels = builder.finish()
    codes, starts = pair_codes(forest, labels.classes.unordered, operators, always_end=always_end)
    return np.split(codes, starts[1:-1])


def test_number_of_pairs_of_the_published_example() -> None:
    assert len(codes_of(LAYOUT, always_end=True)[0]) == 13
    assert len(codes_of(OPERATORS, operators=True, always_end=True)[0]) == 16


def test_end_of_baseline_pairs_only_in_trees_of_two_levels() -> None:
    assert len(codes_of(LAYOUT)[0]) == 11
    assert len(codes_of("[V!x]")[0]) == 1
    assert len(codes_of("[V!x,a[N!2]]")[0]) == 3


def test_operands_of_an_unordered_operator_have_no_order() -> None:
    plus, turned = codes_of("[U!plus,0[V!a],1[V!b]]", "[U!plus,0[V!b],1[V!a]]", operators=True)
    assert sorted(plus) == sorted(turned)
    minus, turned = codes_of("[O!minus,0[V!a],1[V!b]]", "[O!minus,0[V!b],1[V!a]]", operators=True)
    assert sorted(minus) != sorted(turned)


def test_candidates_by_the_dice_coefficient() -> None:
    builder = ForestBuilder()
    numbers = [builder.add(from_tangent(text)) for text in ("[V!x]", "[V!x[+[V!y]]]", "[V!x[+[V!z]]]", "[V!x]")]
    assert numbers == [0, 1, 2, 0]  # equal trees are stored once
    forest, labels = builder.finish()
    unordered = labels.classes.unordered
    codes, starts = pair_codes(forest, unordered, operators=False)
    found = best_trees(index_pairs(forest, unordered, operators=False), codes[starts[1] : starts[2]], 10)
    assert found.ids.tolist() == [1, 2]
    assert found.scores.tolist() == [1, pytest.approx(2 * 1 / 6)]


def test_search_and_regression() -> None:
    formulas = [r"x^2+1=y", r"a^2+1=b", r"\sin x", r"x^2"]
    parsed = [parse(latex) for latex in formulas]
    trees = make_trees(parsed)
    indexes = [index_pairs(t.forest, t.labels.classes.unordered, at == 1) for at, t in enumerate(trees[1:])]
    search = TangentSearch(trees, indexes[0], indexes[1])
    found = search.features(Trees(parsed[0].layout, parsed[0].operators), 2000)
    scores = dict(zip(found.positions.tolist(), regression(found.values).tolist(), strict=True))
    assert scores[0] == pytest.approx(0.2930 + 0.0861 - 0.1694 + 1.8469 + 0.9657 - 0.0153 - 0.3301)
    assert max(scores, key=scores.__getitem__) == 0
    assert scores[1] > scores[3]
    assert 2 not in scores


def test_very_large_formulas_are_cut() -> None:
    parsed = parse("+".join(f"x_{{{n}}}" for n in range(1500)))
    trees = make_trees([parsed], 1)
    assert len(trees.layout.forest.labels) == MAX_NODES
    assert len(trees.operators.forest.labels) == 1 + MAX_OPERANDS * 3  # the sum, and 62 times SUB, x and a number
