"""Paths of operator trees: nodes that reach an ancestor through the same classes of operators have the same key."""

from __future__ import annotations

from collections import Counter

import numpy as np

from porism.analysis.features import MAX_NODES, flat_layout, flat_operators
from porism.analysis.paths import TREES_TOGETHER, Paths, find_paths
from porism.formula import parse
from porism.formula.canonical.rules import normalise


def paths(latex: str) -> tuple[list[str], Paths]:
    tree = flat_operators(normalise(parse(latex).operators, []))
    return tree.labels, find_paths([tree]).by_tree()[0]


def key_counts(latex: str) -> Counter[int]:
    return Counter(paths(latex)[1].keys.tolist())


def test_renaming_variables_keeps_the_keys() -> None:
    assert key_counts("a^2+b^2=c^2") == key_counts("x^2+y^2=z^2")


def test_order_of_unordered_operands_does_not_count() -> None:
    assert key_counts("x^3+2y") == key_counts("2y+x^3")


def test_order_of_ordered_operands_counts() -> None:
    assert key_counts(r"\frac{x}{2}") != key_counts(r"\frac{2}{x}")


def test_a_script_does_not_hide_its_base() -> None:
    assert not key_counts("x+y") - key_counts("x^2+y")


def test_paths_are_sorted_and_leaves_counted() -> None:
    labels, found = paths(r"\sin(x)+\frac{1}{y}")
    rows = list(zip(found.above.tolist(), found.keys.tolist(), found.below.tolist(), strict=True))
    assert rows == sorted(rows)
    assert found.leaves == 3
    assert {labels[below] for below in found.below.tolist()} >= {"V!x", "V!y", "N!1", "F!sin"}


def test_long_formulas_are_cut() -> None:
    long = "+".join(f"x_{{{at}}}" for at in range(400))
    parsed = parse(long)
    assert len(flat_operators(normalise(parsed.operators, [])).labels) == MAX_NODES
    assert len(flat_layout(parsed.layout).labels) == MAX_NODES


def test_layout_trees_are_flattened_in_reading_order() -> None:
    flat = flat_layout(parse(r"\frac{x^2}{y}+1").layout)
    assert flat.labels == ["O!divide", "V!x", "N!2", "V!y", "+", "N!1"]
    assert "".join(map(chr, flat.edges)) == "noaunn"


def test_many_trees_are_sorted_as_few_are() -> None:
    """Below and above the number of trees whose paths are sorted as numbers."""
    latex = ("x^2+y^2=z^2", r"\frac{a_1}{b}", r"\sum_{k=0}^n k^2", "z")
    few = [flat_operators(normalise(parse(one).operators, [])) for one in latex]
    wanted = find_paths(few).by_tree()
    for number in (len(few), TREES_TOGETHER + len(few)):
        found = find_paths([few[at % len(few)] for at in range(number)]).by_tree()
        for at in (0, 1, number - 2, number - 1):
            for own, other in zip(found[at], wanted[at % len(few)], strict=True):
                assert np.array_equal(own, other)
