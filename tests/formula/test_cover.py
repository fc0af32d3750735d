from __future__ import annotations

import pytest

from porism.formula.mathml.cover import cover, lit

# math 0, mfrac 1, mrow 2, a 3, + 4, b 5, 2 6, = 7, c 8
FRACTION = "<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac><mo>=</mo><mi>c</mi></math>"


@pytest.mark.parametrize(
    ("places", "whole", "frames"),
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
def test_what_matched_whole_is_lit_whole_and_the_rest_framed(
    places: tuple[int, ...], whole: set[int], frames: set[int]
) -> None:
    assert cover(FRACTION, places) == (whole, frames)


def test_classes_are_put_on_the_elements() -> None:
    assert lit("<math><msqrt><mi>x</mi></msqrt><mo>+</mo></math>", (1, 3)) == (
        '<math><msqrt class="frame"><mi>x</mi></msqrt><mo class="lit">+</mo></math>'
    )


def test_brackets_belong_to_what_is_around_them() -> None:
    power = "<math><msup><mrow><mo>(</mo><mi>a</mi><mo>)</mo></mrow><mn>2</mn></msup><mo>)</mo></math>"
    assert cover(power, (4, 6)).whole == {0}
    assert cover(power, (6,)).whole == {6}
