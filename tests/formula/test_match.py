"""Matching: where a pattern occurs, at which level, with which bindings."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_trees import renamed, shuffled, trees

from porism.cli import main
from porism.formula import parse
from porism.formula.canonical.forms import canonical
from porism.formula.canonical.hashed import HashedNode, hashed_node
from porism.formula.match import backtracking
from porism.formula.match.backtracking import HASHING
from porism.formula.match.matcher import PreparedTree, find, match
from porism.formula.operators.parse import operator_tree
from porism.formula.plaintext import tree_text
from porism.formula.tree import Node


def tree_of(latex: str) -> Node:
    return operator_tree(parse(latex, wildcards=True).layout)


CASES = [
    ("x^2", "3+x^2", "written", False),
    ("x^2+1", "x^2+1", "written", True),
    (r"\frac{a}{b}", "a/b", "normalised", True),
    ("b<a", "a>b", "normalised", True),
    ("b+a", "a+b", "commutative", True),
    ("a+c", "a+b+c", "commutative", False),
    ("a+b", "a+b+c", "written", False),
    ("a+b", "x+y+z", "renamed", False),
    ("a^2+b^2=c^2", "y^2+x^2=z^2", "renamed", True),
    ("a<b", r"x<y\le z", "renamed", False),
    ("y<z", "x<y<z", "written", False),
    ("a=b", "x<y=z", "renamed", False),
    (r"a<b\le c", r"w=x<y\le z", "renamed", False),
    (r"\sin^2 ?x+\cos^2 ?x", r"\cos^2(2t)+\sin^2(2t)=1", "commutative", False),
    ("?a^{?a}", "x^x+1", "written", False),
    ("?a+1", "x^2+y+1", "written", False),
    ("f(?x)", "g(t+1)", "renamed", True),
    (r"\int_{?a}^{?b} f(x)\,dx", r"2\int_0^1 g(t)\,dt", "renamed", False),
]


@pytest.mark.parametrize(("pattern", "target", "level", "whole"), CASES)
def test_a_pattern_occurs(pattern: str, target: str, level: str, whole: bool) -> None:
    found = match(tree_of(pattern), tree_of(target))
    assert found is not None
    assert (found.level, found.whole) == (level, whole)


ABSENT = [
    ("?a^{?a}", "x^y+1"),
    ("a+a", "x+y"),
    ("a+b", "x+x"),
    ("a-b", "a+b"),
    ("f(x)", "fx"),
    ("x<y<z", "a<b"),
    ("x^2", "x_2"),
    ("ab+bc+ca", "xy+yz+zw"),
]


@pytest.mark.parametrize(("pattern", "target"), ABSENT)
def test_a_pattern_does_not_occur(pattern: str, target: str) -> None:
    found = find(tree_of(pattern), tree_of(target))
    assert found.match is None
    assert not found.exhausted


def test_the_loosest_level_can_be_set() -> None:
    assert match(tree_of("a+b"), tree_of("x+y"), level="commutative") is None
    assert match(tree_of("x^2"), tree_of("x^2+1"), whole=True) is None


def test_wildcards_bind_to_whole_sub_expressions() -> None:
    found = match(tree_of("?a^2-?b^2"), tree_of("(x+1)^2-y^2"))
    assert found is not None
    assert [(name, tree_text(node)) for name, node in found.bindings] == [("?a", "U!plus(V!x, N!1)"), ("?b", "V!y")]


def test_one_wildcard_takes_the_rest_of_a_sum() -> None:
    found = match(tree_of("?a+1"), tree_of("1+x+y"), whole=True)
    assert found is not None
    assert [(name, tree_text(node)) for name, node in found.bindings] == [("?a", "U!plus(V!x, V!y)")]


def test_pairs_have_places_on_both_sides() -> None:
    found = match(tree_of("a+b"), tree_of("1=x+y"))
    assert found is not None
    assert [(pair.pattern, pair.target) for pair in found.pairs] == [
        ("U!plus", "U!plus"),
        ("V!a", "V!x"),
        ("V!b", "V!y"),
    ]
    assert all(pair.pattern_places and pair.target_places for pair in found.pairs)


def test_an_exhausted_search_is_reported() -> None:
    products = [Node("U!times", [Node(f"?x{i}"), Node(f"?y{i}")]) for i in range(7)]
    pattern = Node("U!plus", [*products, Node("U!times", [Node("?z"), Node("?z")])])
    target = Node("U!plus", [Node("U!times", [Node(f"V!a{i}"), Node(f"V!b{i}")]) for i in range(8)])
    assert find(pattern, target, budget=1000).exhausted


@settings(max_examples=200, deadline=None)
@given(trees())
def test_matching_is_reflexive(tree: Node) -> None:
    found = match(tree, tree, whole=True)
    assert found is not None
    assert found.level == "written"


@settings(max_examples=150, deadline=None)
@given(trees(), st.permutations(["V!p", "V!q", "V!r", "V!s", "V!t"]), st.integers(0, 5))
def test_matching_is_stable_under_renaming_and_order(tree: Node, names: list[str], turn: int) -> None:
    normal = canonical(tree, "normalised").tree
    other = shuffled(renamed(normal, dict(zip(["V!a", "V!b", "V!c", "V!x", "V!y"], names, strict=True))), turn)
    found = find(normal, other, whole=True)
    assert found.exhausted or found.match is not None


@settings(max_examples=150, deadline=None)
@given(trees(), trees())
def test_a_part_occurs_in_the_whole(part: Node, other: Node) -> None:
    whole = Node("F!cos", [Node("O!divide", [other, part])])
    found = match(part, whole)
    assert found is not None
    assert found.level == "written"


def test_the_command_prints_level_pairs_and_bindings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formula", "x^2+1", "--match", r"\qvar{a}^2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["level\twritten", "whole\tno"]
    assert [line.split("\t")[:3] for line in lines[2:]] == [
        ["pair", "O!SUP", "O!SUP"],
        ["pair", "?a", "V!x"],
        ["pair", "N!2", "N!2"],
        ["binding", "?a", "V!x"],
    ]


def test_the_command_reports_no_match(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formula", "x+1", "--match", "x^2", "--level", "written"]) == 1
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err == "no match\n"


def test_the_command_writes_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formula", "x", "--match", "a", "--json", "--whole"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["match"]["level"] == "renamed"
    assert made["match"]["bindings"] == {"V!a": "V!x"}
    assert main(["formula", "2", "--match", "1", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"match": None, "exhausted": False}


def test_a_wildcard_does_not_match_a_missing_operand() -> None:
    pattern = parse(r"\sum_{?i=1}^n ?x", wildcards=True).operators
    assert match(pattern, parse(r"\sum_{k=1}^n").operators) is None
    assert match(pattern, parse(r"\sum_{k=1}^n k^2").operators) is not None


def test_equal_operands_are_tried_once() -> None:
    pattern, target = parse("M ?x ?x ?x ?x ?x", wildcards=True).operators, parse(" ".join("x" * 60)).operators
    assert not find(pattern, target).exhausted


def test_steps_are_charged_by_their_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []

    def counted(label: str, operands: list[HashedNode]) -> HashedNode:
        hashed.append(len(operands))
        return hashed_node(label, operands)

    letters = [chr(code) for code in range(ord("a"), ord("z") + 1) if chr(code) not in "ei"]
    pattern = parse("?x ?y ?z ?x ?y ?z ?w", wildcards=True).operators
    prepared = PreparedTree(parse(" ".join(letters)).operators)
    prepared.nodes("renamed")
    monkeypatch.setattr(backtracking, "hashed_node", counted)
    assert find(pattern, prepared, budget=20_000).exhausted
    assert sum(hashed) <= 20_000 / HASHING
