"""Labels and what they count as."""

from __future__ import annotations

import pytest

from porism.index.analysis.classes import ABOVE, NUMBER, OPERATOR, VARIABLE, class_name, kind, trait


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
    assert kind(label) == expected


def test_traits() -> None:
    assert trait("U!plus").free
    assert trait("O!leq").free
    assert not trait("O!divide").free
    assert trait("O!SUP").script == ABOVE
    assert trait("F!sin").code == trait("F!cos").code != trait("F!ln").code
