"""Edit-distance and tuple features of DPRL's learning to rank: their rules, and the values that its authors stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bench.verify.values import LTR_FILE, feature_values, ltr_values, read_operators

from porism.formula import Node, from_tangent, tangent
from porism.systems.dprl.edit_distance import Costs, edit_distances, symbol_ids, type_of
from porism.systems.dprl.layout import with_plain_brackets
from porism.systems.tangent.forest import Labels, make_forest

from .tangent_cases import first_topics


def distance(query: Node, candidate: Node, costs: tuple[int, int, int] = (1, 1, 1), types: bool = False) -> float:
    labels = Labels.of([query, candidate])
    forests = [make_forest([root], labels.ids) for root in (query, candidate)]
    operators = not any(node.edges for root in (query, candidate) for node in root.walk())
    symbols = symbol_ids(labels.extended(query), types, braces=False)
    found = edit_distances(forests[0], forests[1], np.array([0]), symbols, operators, [Costs(*costs)])
    return float(found.values[0, 0])


def test_edit_distance_of_small_trees() -> None:
    x, square = from_tangent("[V!x[+[V!y]]]"), from_tangent("[V!x[+[V!y]],a[N!2]]")
    assert distance(x, x) == 0
    assert distance(x, square) == 1
    assert distance(x, square, (4, 2, 4)) == 2  # one node is inserted
    assert distance(square, x, (4, 2, 4)) == 4  # one node of the query is deleted
    assert distance(x, from_tangent("[V!x[+[V!z]]]"), (4, 2, 3)) == 3
    assert distance(x, from_tangent("[V!x[+[V!z]]]"), (4, 2, 9)) == 6  # delete and insert cost less than rename


def test_edit_distance_of_types() -> None:
    left, right = from_tangent("[V!x[+[N!1]]]"), from_tangent("[V!y[+[N!2]]]")
    assert distance(left, right) == 2
    assert distance(left, right, types=True) == 0
    assert [type_of(label) for label in ("V!x", "+", "M!()1x1", "!")] == ["V", "+", "M", ""]


def test_trees_are_rebuilt_as_in_the_original() -> None:
    # The subscript of the first x is attached to the second: both are named x, and the second is nearer to the end of
    # the row.
    first = from_tangent("[V!x[+[V!x[-[V!y]]]],b[N!1]]")
    assert distance(first, from_tangent("[V!x[+[V!x[-[V!y]],b[N!1]]]]")) == 0
    other = from_tangent("[V!x[+[V!z[-[V!y]]]],b[N!1]]")
    assert distance(other, from_tangent("[V!x[+[V!z[-[V!y]],b[N!1]]]]")) > 0


def test_braces_are_one_symbol_for_the_edit_distance_only() -> None:
    assert distance(from_tangent("[{]"), from_tangent("[}]")) == 0
    assert feature_values(from_tangent("[{]"), [from_tangent("[}]")], "slt")["tuple_slt_False"][0] == 0


def test_tuples_compare_edges_and_path_as_one_text() -> None:
    query, candidate = from_tangent("[V!a[V!b[V!c[V!d]]]]"), from_tangent("[V!a[V!c[V!b[V!d]]]]")
    # Of six tuples three are common: the end of d, and (b, d) and (c, d), which are nn at n in one formula and n at nn
    # in the other.
    assert feature_values(query, [candidate], "slt")["tuple_slt_False"][0] == pytest.approx(
        2 * 0.5 * 0.5 / (0.5 + 0.5 + 1)
    )


def test_order_of_operands_does_not_matter_for_tuples() -> None:
    query = read_operators("[U!plus,0[V!a],1[V!b]]")
    equal, turned = feature_values(query, [query, read_operators("[U!plus,0[V!b],1[V!a]]")], "opt")["tuple_opt_False"]
    assert equal == turned == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ("[V!f[M!()1x1,w[V!x]]]", "[V!f[([V!x[)]]]]"),
        ("[M!()1x2,w[N!1[&comma;],e[N!2]]]", "[([N!1[&comma;[N!2[)]]]]]"),
        ("[M!()1x1[V!y],a[N!2],w[V!x]]", "[M!1x1[V!y],o[N!2],w[([V!x[)]]]]"),
        ("[M!()1x1[M!()1x1,a[N!3],w[V!y]],a[N!2],w[V!x]]", "[M!1x2,o[N!2],w[([V!x[)]],e[([V!y[)]]]]]"),
        ("[M!||1x1,w[V!x]]", "[M!||1x1,w[V!x]]"),
        ("[M!||1x1,w[V!f[M!()1x2,w[V!x[&comma;],e[V!y]]]]]", "[M!||1x2,w[V!f[([V!x[&comma;]]],e[V!y[)]]]]"),
        ("[M!()2x2,w[V!a,e[V!b,e[V!c,e[V!d]]]]]", "[([M!2x1[)],w[V!a,e[V!c]]]]"),
    ],
)
def test_brackets_are_symbols_of_the_baseline(tree: str, expected: str) -> None:
    assert tangent(with_plain_brackets(from_tangent(tree))) == expected


@pytest.mark.shared
def test_values_of_the_original(shared_data: Path, tmp_path: Path) -> None:
    shares = ltr_values(first_topics(shared_data, LTR_FILE, 12, tmp_path))
    assert set(shares) == {"edit distance (layout)", "edit distance (operators)", "tuples"}
    assert all(share > 0.97 for share in shares.values()), shares
