"""Highlighting elements of MathML."""

from __future__ import annotations

import pytest

from porism.formula.mathml.presentation import coverage, highlight

# math 0, mfrac 1, mrow 2, a 3, + 4, b 5, 2 6, = 7, c 8
FRACTION = "<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac><mo>=</mo><mi>c</mi></math>"


@pytest.mark.parametrize(
    ("places", "filled", "framed"),
    [
        ((), set(), set()),
        ((3,), {3}, set()),
        ((3, 4, 5), {2}, set()),
        ((1, 3, 4, 5, 6), {1}, set()),
        ((3, 4, 5, 6, 7, 8), {0}, set()),
        ((1, 6), {6}, {1}),
        ((1, 3, 4, 5), {2}, {1}),
    ],
)
def test_complete_elements_are_filled_and_others_framed(
    places: tuple[int, ...], filled: set[int], framed: set[int]
) -> None:
    assert coverage(FRACTION, places) == (filled, framed)


def test_elements_get_classes() -> None:
    assert highlight("<math><msqrt><mi>x</mi></msqrt><mo>+</mo></math>", (1, 3)) == (
        '<math><msqrt class="frame"><mi>x</mi></msqrt><mo class="highlight">+</mo></math>'
    )


def test_brackets_belong_to_the_element_around_them() -> None:
    power = "<math><msup><mrow><mo>(</mo><mi>a</mi><mo>)</mo></mrow><mn>2</mn></msup><mo>)</mo></math>"
    assert coverage(power, (4, 6)).filled == {0}
    assert coverage(power, (6,)).filled == {6}
