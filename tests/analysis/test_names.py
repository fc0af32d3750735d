from __future__ import annotations

import pytest

from porism.analysis.learned import defined_terms, emphasised_names, name_keys, query_keys
from porism.text.segment import Segment, Text


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("pythagoras theorem", "Pythagorean theorem"),
        ("Theorem of Pythagoras", "Pythagoras' theorem"),
        ("Gauss elimination", "Gaussian elimination"),
        ("lemma of Nakayama", "Nakayama's lemma"),
        ("cauchy schwarz inequalities", "The Cauchy-Schwarz inequality"),
        ("half plane", "half-planes"),
        ("halfplane", "half-plane"),
        ("half plane", "halfplane"),
        ("Kollar", "Kollár"),
        ("Stormer number", "Størmer number"),
        ("under-determined", "under determined"),
        ("lattice in $\\mathbb{R", "lattice in $R"),
    ],
)
def test_what_people_type_is_the_name(typed: str, title: str) -> None:
    assert set(query_keys(typed)) & set(name_keys(title))


@pytest.mark.parametrize(
    ("typed", "title"),
    [("determinant", "under determined"), ("prime", "prime number"), ("theorem of Euler", "conjecture of Euler")],
)
def test_another_name_is_another_term(typed: str, title: str) -> None:
    assert not set(query_keys(typed)) & set(name_keys(title))


def test_formulas_are_part_of_a_name_and_their_spaces_are_not() -> None:
    assert name_keys("the ring \ua66e", ["\\mathbb{Z}[ i ]"]) == name_keys("ring \ua66e", ["\\mathbb Z[i]"])
    assert name_keys("the ring \ua66e", ["R"]) != name_keys("the ring \ua66e", ["S"])


def test_a_sentence_and_a_text_without_words_are_no_names() -> None:
    assert name_keys("word " * 13) == []
    assert name_keys("the of — !") == []


def test_a_text_defines_what_it_emphasises() -> None:
    pieces = [("text", "Two integers are "), ("tag", "<em>"), ("text", "relatively prime"), ("tag", "</em>")]
    formula = [
        ("tag", "<b>"),
        ("text", "the ring "),
        ("formula", "R"),
        ("tag", "</b>"),
        ("tag", "<i>"),
        ("text", "open"),
    ]
    text = Text.of(Segment(kind, content) for kind, content in (*pieces, *formula))  # type: ignore[arg-type]
    assert list(emphasised_names(text)) == ["relatively prime"]
    assert list(defined_terms(text)) == name_keys("relatively prime")
