"""Canonical forms: the rules, spellings that are equal and spellings that are not, and properties of all formulas."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_trees import renamed, shuffled, trees

from porism.formula import parse
from porism.formula.canonical.forms import LEVELS, Level, SubExpression, canonical, subexpressions
from porism.formula.canonical.rules import RULES, Rule
from porism.formula.match.matcher import match
from porism.formula.operators.parse import operator_tree
from porism.formula.plaintext import tree_text
from porism.formula.tree import Node

HERE = Path(__file__).parent


# Two triangles and a hexagon: every variable occurs in the same surroundings, which is all that the hash of level
# `renamed` sees.
SAME_HASH = {("ab+bc+ca+de+ef+fd", "ab+bc+cd+de+ef+fa")}


def tree_of(latex: str) -> Node:
    return operator_tree(parse(latex).layout)


def pairs(name: str) -> list[tuple[Level, str, str]]:
    lines = [line for line in (HERE / name).read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    found: list[tuple[Level, str, str]] = []
    for line in lines:
        level, left, right = line.split("\t")
        assert level in LEVELS
        found.append((level, left, right))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_gives_its_two_spellings_one_tree(rule: Rule) -> None:
    left, right = canonical(tree_of(rule.left), "normalised"), canonical(tree_of(rule.right), "normalised")
    assert tree_text(left.tree) == tree_text(right.tree)
    assert (rule.name in left.flags + right.flags) == rule.ambiguous


def test_rules_have_unique_names() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(("level", "left", "right"), pairs("same.txt"))
def test_equal_spellings(level: Level, left: str, right: str) -> None:
    for looser in LEVELS[LEVELS.index(level) :]:
        assert tree_text(canonical(tree_of(left), looser).tree) == tree_text(canonical(tree_of(right), looser).tree)
        assert root_hash(left, looser) == root_hash(right, looser)


@pytest.mark.parametrize(("level", "left", "right"), pairs("different.txt"))
def test_different_spellings(level: Level, left: str, right: str) -> None:
    for stricter in LEVELS[: LEVELS.index(level) + 1]:
        assert tree_text(canonical(tree_of(left), stricter).tree) != tree_text(canonical(tree_of(right), stricter).tree)
        if (left, right) not in SAME_HASH:
            assert root_hash(left, stricter) != root_hash(right, stricter)


def root_hash(latex: str, level: Level) -> bytes:
    return hash_of(subexpressions(tree_of(latex))[0], level)


def hash_of(part: SubExpression, level: Level) -> bytes:
    normal = part.normal
    known = {"written": part.written, "normalised": normal.normalised, "commutative": normal.commutative}
    return known[level] if level in known else normal.renamed()


def test_the_lists_are_long_enough() -> None:
    assert len(pairs("same.txt")) >= 120
    assert len(pairs("different.txt")) >= 60


def test_the_names_of_variables_are_mapped() -> None:
    made = canonical(tree_of("ax+b=0"))
    assert sorted(made.names) == ["V!a", "V!b", "V!x"]
    assert sorted(made.names.values()) == ["V!v1", "V!v2", "V!v3"]
    assert {node.label for node in made.tree.walk() if node.label[:2] == "V!"} == set(made.names.values())


def test_places_survive() -> None:
    tree = tree_of("b+a>c")
    made = canonical(tree, "commutative").tree
    assert sorted(p for node in made.walk() for p in node.places) == sorted(
        p for node in tree.walk() for p in node.places
    )


def test_each_node_has_a_sub_expression() -> None:
    assert [part.size for part in subexpressions(tree_of("x^2+1"))] == [5, 3, 1, 1, 1]


def test_equal_sub_expressions_have_equal_hashes() -> None:
    """√(a+b) inside one formula and (y+x)^{1/2} inside another share a hash at level renamed."""
    left = {part.normal.renamed() for part in subexpressions(tree_of(r"1+\sqrt{a+b}"))}
    assert root_hash(r"(y+x)^{1/2}", "renamed") in left


def test_hashes_are_the_same_in_every_process_and_every_python() -> None:
    hashes = {level: root_hash("x^2+y=1", level).hex() for level in LEVELS}
    assert hashes == {
        "written": "15c31de18868ce51",
        "normalised": "15c31de18868ce51",
        "commutative": "7c5d12592283e327",
        "renamed": "e55165d2ebf7d83f",
    }


def test_exchanged_operands_do_not_collide() -> None:
    """The hash of a sum must not be linear in those of its operands: `a²+b⁴` is not `a⁴+b²`."""
    for first, second in itertools.combinations("abcxyz", 2):
        for p, q in itertools.combinations("23456789", 2):
            left, right = (f"{first}^{m}+{second}^{n}" for m, n in ((p, q), (q, p)))
            assert root_hash(left, "commutative") != root_hash(right, "commutative")
            assert match(tree_of(left), tree_of(right), "commutative") is None


@settings(max_examples=300, deadline=None)
@given(trees(), st.sampled_from(LEVELS))
def test_canonical_forms_are_idempotent(tree: Node, level: Level) -> None:
    once = canonical(tree, level).tree
    assert tree_text(canonical(once, level).tree) == tree_text(once)


@settings(max_examples=300, deadline=None)
@given(trees(), st.integers(0, 5))
def test_the_order_of_commutative_operands_does_not_matter(tree: Node, turn: int) -> None:
    other = shuffled(canonical(tree, "normalised").tree, turn)
    assert tree_text(canonical(other, "commutative").tree) == tree_text(canonical(tree, "commutative").tree)
    assert hash_of(subexpressions(other)[0], "commutative") == hash_of(subexpressions(tree)[0], "commutative")


@settings(max_examples=300, deadline=None)
@given(trees(), st.permutations(["V!p", "V!q", "V!r", "V!s", "V!t"]), st.integers(0, 5))
def test_names_do_not_matter_when_renamed(tree: Node, names: list[str], turn: int) -> None:
    normal = canonical(tree, "normalised").tree
    other = shuffled(renamed(normal, dict(zip(["V!a", "V!b", "V!c", "V!x", "V!y"], names, strict=True))), turn)
    assert tree_text(canonical(other, "renamed").tree) == tree_text(canonical(normal, "renamed").tree)
    assert hash_of(subexpressions(other)[0], "renamed") == hash_of(subexpressions(normal)[0], "renamed")


@settings(max_examples=200, deadline=None)
@given(trees(), trees())
def test_equal_hashes_mean_equal_trees(left: Node, right: Node) -> None:
    for level in LEVELS:
        same = tree_text(canonical(left, level).tree) == tree_text(canonical(right, level).tree)
        hashes = [hash_of(subexpressions(tree)[0], level) for tree in (left, right)]
        assert same == (hashes[0] == hashes[1])


@pytest.mark.parametrize("term", ["x", "3x", r"\sin x", r"\frac{1}{x}", "-x"])
def test_operands_are_sorted_by_their_last_symbols(term: str) -> None:
    """A coefficient or a function before an operand does not change its place among the others."""
    operands = canonical(tree_of(f"y+a+{term}"), "commutative").tree.children
    assert [tree_text(one) for one in (operands[0], operands[2])] == ["V!a", "V!y"]
