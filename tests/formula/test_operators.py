"""Operator trees, construct by construct and for any input."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_trees import LINES

from porism.formula import parse
from porism.formula.operators.parse import ambiguities, operator_tree
from porism.formula.operators.table import SYMBOLS
from porism.formula.plaintext import tree_text
from porism.formula.tree import Node, attach, chain, link_elements


@pytest.mark.parametrize(("latex", "tree"), LINES, ids=[line[0] for line in LINES])
def test_a_construct_has_its_tree(latex: str, tree: str) -> None:
    assert tree_text(operator_tree(parse(latex).layout)) == tree


def test_operators_have_places() -> None:
    tree = operator_tree(parse("a+b=c").layout)
    seen = sorted(place for node in tree.walk() for place in node.places)
    assert len(seen) == len(set(seen)) == 5


def test_a_guess_between_function_and_product_is_reported() -> None:
    guesses = [(kind, tree_text(node)) for kind, node in ambiguities(parse("c(x)+a(b+c)+f(x)").layout)]
    assert guesses == [("application", "O!apply(V!c, V!x)"), ("product", "V!a")]


def test_only_an_unmatched_bracket_is_opaque() -> None:
    assert "E!" in tree_text(operator_tree(parse("(a+b").layout))
    assert "E!" not in tree_text(operator_tree(parse("(a+b)").layout))


@pytest.mark.parametrize(
    "latex",
    [
        "(" * 3000 + "x" + ")" * 3000,
        "-" * 4000 + "x",
        "a/b*" * 1000 + "c",
        "\\sin " * 2000,
        "\\int " * 2000 + "x dx",
        "\\forall x" * 1500,
    ],
)
def test_deep_and_long_rows_give_a_tree(latex: str) -> None:
    tree = operator_tree(parse(latex).layout)
    assert sum(1 for _ in tree.walk()) > 0


TOKENS = st.sampled_from(
    [
        *sorted(SYMBOLS),
        "V!x",
        "V!f",
        "V!d",
        "N!2",
        "T!if",
        "T!and",
        "W!",
        "?a",
        "E!oops",
        "(",
        "]",
        "O!divide",
        "O!root",
        "O!binom",
        "M!()1x1",
        "M!{}1x2",
        "M!2x2",
        "M!{2x2",
        "M!⟨⟩1x2",
        "M!||2x1",
    ]
)


def layouts() -> st.SearchStrategy[Node]:
    """Generate layout trees of any form, including some that no converter gives."""

    def row(parts: list[tuple[str, list[tuple[str, Node]]]]) -> Node:
        nodes = []
        for label, scripts in parts:
            node = Node(label)
            inside = [child for edge, child in scripts if edge == "w"]
            if inside:
                link_elements(node, inside)
            for edge, child in scripts:
                if edge != "w" and edge not in node.edges:
                    attach(node, edge, child)
            nodes.append(node)
        return chain(nodes)

    leaf = st.builds(Node, TOKENS)
    return st.recursive(
        leaf,
        lambda inner: st.lists(
            st.tuples(TOKENS, st.lists(st.tuples(st.sampled_from("aboucdw"), inner.map(_copy)), max_size=3)),
            min_size=1,
            max_size=6,
        ).map(row),
        max_leaves=12,
    )


def _copy(node: Node) -> Node:
    return Node(node.label, [_copy(child) for child in node.children], node.edges)


@settings(max_examples=300, deadline=None)
@given(layouts())
def test_any_layout_tree_gives_an_operator_tree(layout: Node) -> None:
    tree = operator_tree(layout)
    assert all(node.edges == "" and node.label for node in tree.walk())


@pytest.mark.parametrize(
    "latex",
    ["a,(\\in)", "n=1,(-)", "x,(')", "'^{-1}", "\\int(dx)", "\\frac{d}{d}", "|)|(|", "\\sqrt[ ]{ }", "{}_{}^{}"],
)
def test_operators_without_operands(latex: str) -> None:
    assert operator_tree(parse(latex).layout).label


@pytest.mark.shared
def test_nearly_all_real_formulas_are_parsed(shared_data: Path) -> None:
    with open(shared_data / "slice/formulas.tsv", encoding="utf-8") as file:
        formulas = list(dict.fromkeys(line.rstrip("\n").split("\t")[5] for line in file))[1::40]
    full = sum("E!" not in tree_text(operator_tree(parse(latex).layout)) for latex in formulas)
    assert full / len(formulas) >= 0.98
