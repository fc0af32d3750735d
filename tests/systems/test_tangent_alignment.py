"""The second stage of Tangent-S: the rules of alignment one by one, and the values that its authors stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.verify.values import TANGENT_FILE, alignment_values, read_operators, tangent_values

from porism.formula import parse

from .tangent_cases import first_topics, vector


def test_equal_trees_match_fully() -> None:
    assert vector("[V!x[+[N!1]],a[N!2]]", "[V!x[+[N!1]],a[N!2]]") == (1, 1, 1)


def test_renamed_variables_are_unified_but_not_exact() -> None:
    similarity, precision, recall = vector("[V!x[+[V!x]]]", "[V!y[+[V!y]]]")
    assert (similarity, precision) == (1, 1)
    assert recall == pytest.approx(1 / 3)  # only the plus


def test_unification_is_one_to_one() -> None:
    # x -> y is accepted once; the second x would have to be z.
    similarity, precision, _ = vector("[V!x[+[V!x]]]", "[V!y[+[V!z]]]")
    assert precision == pytest.approx(2 / 3)
    assert similarity == pytest.approx(2 * (2 / 3) * (1 / 2) / (2 / 3 + 1 / 2))


def test_equal_names_are_preferred_among_equally_frequent_pairs() -> None:
    assert vector("[V!x[V!y]]", "[V!x[V!z]]") == (1, 1, 0.5)


def test_a_function_name_is_not_unified_with_a_letter() -> None:
    assert vector("[V!f]", "[V!sin]") == (0, 0, 0)


def test_numbers_unify_and_operators_do_not() -> None:
    assert vector("[N!1]", "[N!2]") == (1, 1, 0)
    assert vector("[N!1]", "[N!two]") == (0, 0, 0)
    assert vector("[+]", "[−]") == (0, 0, 0)


def test_the_walk_goes_on_below_nodes_that_do_not_match() -> None:
    similarity, precision, recall = vector("[V!a[+[V!b]]]", "[V!a[−[V!b]]]")
    assert (precision, recall) == pytest.approx((2 / 3, 2 / 3))
    assert similarity == pytest.approx(2 * (2 / 3) * (0.5 / 2) / (2 / 3 + 0.5 / 2))  # no edge: half of one counts


def test_elements_of_a_group_are_matched_by_place() -> None:
    query = "[M!()1x2,w[N!1,e[V!x]]]"
    assert vector(query, "[M!()1x3,w[N!1,e[V!x,e[V!y]]]]") == pytest.approx((1, 0.75, 2 / 3))


def test_cells_of_matrices_are_matched_by_row_and_column() -> None:
    square = "[M!2x2,w[V!a,e[V!b,e[V!c,e[V!d]]]]]"
    wide = "[M!2x3,w[V!a,e[V!b,e[V!u,e[V!c,e[V!d,e[V!v]]]]]]]"
    assert vector(square, wide)[2] == pytest.approx(4 / 5)  # all cells, not the label of the matrix


def test_operands_without_order_are_paired_by_their_potential() -> None:
    assert vector("[U!plus,0[V!a],1[O!SUP,0[V!x],1[N!2]]]", "[U!plus,0[O!SUP,0[V!x],1[N!2]],1[V!a]]", "opt") == (
        1,
        1,
        1,
    )
    similarity, _, _ = vector(
        "[O!minus,0[V!a],1[O!SUP,0[V!x],1[N!2]]]", "[O!minus,0[O!SUP,0[V!x],1[N!2]],1[V!a]]", "opt"
    )
    assert similarity < 1


def test_a_wildcard_matches_any_node() -> None:
    assert vector("[?w[+[N!1]]]", "[O!root[+[N!1]],w[V!x]]")[0] == 1


def test_unknown_labels_of_the_query_match_nothing_exactly() -> None:
    assert vector("[V!q]", "[V!x]") == (1, 1, 0)
    assert vector("[⊗]", "[⊕]") == (0, 0, 0)


def test_operator_trees_as_text() -> None:
    tree = read_operators("[U!eq,0[O!SUP,0[V!x],1[N!2]],1[V!y]]")
    assert [node.label for node in tree.walk()] == ["U!eq", "O!SUP", "V!x", "N!2", "V!y"]
    with pytest.raises(ValueError, match="brackets do not match"):
        read_operators("[U!eq,0[V!x]")


def test_any_formula_can_be_aligned() -> None:
    query = parse(r"\begin{pmatrix} a & b \\ c \end{pmatrix} + \sqrt[3]{x}")
    for kind, tree in (("slt", query.layout), ("opt", query.operators)):
        assert alignment_values(tree, [tree, parse("").layout], kind)[0].tolist() == [1, 1, 1]


@pytest.mark.shared
def test_values_of_the_original(shared_data: Path, tmp_path: Path) -> None:
    data = first_topics(shared_data, TANGENT_FILE, 8, tmp_path)
    assert tangent_values(data)["values"] > 0.999


@pytest.mark.shared
def test_a_wrong_value_is_found(shared_data: Path, tmp_path: Path) -> None:
    data = first_topics(shared_data, TANGENT_FILE, 1, tmp_path)
    lines = (data / TANGENT_FILE).read_text("utf-8").splitlines()
    topic, visual, kind, *_ = lines[1].split("\t")
    (data / TANGENT_FILE).write_text("\n".join((lines[0], f"{topic}\t{visual}\t{kind}\t.123\t.5\t.5")), "utf-8")
    assert tangent_values(data)["values"] < 0.5
