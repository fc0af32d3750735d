"""Classes, kinds and traits of labels."""

from __future__ import annotations

import pytest

from porism.analysis.paths import ABOVE, NUMBER, OPERATOR, VARIABLE, class_name, label_traits, symbol_kind


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("V!x", "variable"),
        ("C!ℝ", "variable"),
        ("C!π", "C!π"),
        ("N!0", "zero"),
        ("N!1", "one"),
        ("N!12", "number"),
        ("U!eq", "relation"),
        ("O!leq", "relation"),
        ("F!cos", "trigonometric"),
        ("F!gcd", "function"),
        ("F!exp", "F!exp"),
        ("M!S-3", "M!S-"),
        ("T!if", "text"),
        ("O!divide", "O!divide"),
    ],
)
def test_classes(label: str, name: str) -> None:
    assert class_name(label) == name


@pytest.mark.parametrize(
    ("label", "expected"),
    [("V!x", VARIABLE), ("V!x_1", VARIABLE), ("V!sin", OPERATOR), ("N!2", NUMBER), ("+", OPERATOR)],
)
def test_kinds(label: str, expected: int) -> None:
    assert symbol_kind(label) == expected


def test_traits() -> None:
    assert label_traits("U!plus").unordered
    assert label_traits("O!leq").unordered
    assert not label_traits("O!divide").unordered
    assert label_traits("O!SUP").script == ABOVE
    assert label_traits("F!sin").code == label_traits("F!cos").code != label_traits("F!ln").code
