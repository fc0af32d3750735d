"""Official formulas get their place by the lab's rule."""

from __future__ import annotations

import pytest

from porism.corpus.build.official import NumberedFormula, insert_spans
from porism.text.markup import math_span

BARE = '<span class="math-container">'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a {BARE}$$ x $$</span> b", f"a {math_span('x', 1)} b"),
        (f"a {BARE}$$x$$</span> b", f"a {math_span('x', 1)} b"),
        (f"a {BARE}$x$</span> b", f"a {math_span('x', 1)} b"),
        (f"a {BARE}x</span> b", f"a {math_span('x', 1)} b"),
        ("a $$x$$ b", f"a {math_span('x', 1)} b"),
        ("a $x$ b", f"a {math_span('x', 1)} b"),
        ("a x b", "a x b"),
        (f"$x$ and {BARE}x</span>", f"{math_span('x', 1)} and {BARE}x</span>"),
        ("$x$ and $x$", f"{math_span('x', 1)} and $x$"),
    ],
)
def test_the_earliest_spelling_is_replaced_once(text: str, expected: str) -> None:
    assert insert_spans(text, [NumberedFormula(1, 1, "x")], loose=False) == expected


def test_longest_formulas_first() -> None:
    assert (
        insert_spans("$a $b$ c$ $b$", [NumberedFormula(1, 1, "b"), NumberedFormula(2, 2, "a $b$ c")], loose=False)
        == f"{math_span('a $b$ c', 2)} {math_span('b', 1)}"
    )


def test_escaped_latex_and_line_ends() -> None:
    assert insert_spans("$a &lt;\nb$", [NumberedFormula(1, 1, "a < b")], loose=False) == math_span("a < b", 1)


def test_spans_that_have_an_id_are_left_alone() -> None:
    text = f"{math_span('$x$', 7)} $x$"
    assert insert_spans(text, [NumberedFormula(1, 1, "x")], loose=False) == f"{math_span('$x$', 7)} {math_span('x', 1)}"


def test_a_formula_between_blanks_counts_only_in_compat_mode() -> None:
    assert (
        insert_spans("maps a positive $a$", [NumberedFormula(1, 1, "a")], loose=True)
        == f"maps{math_span('a', 1)}positive $a$"
    )
    assert (
        insert_spans("maps a positive $a$", [NumberedFormula(1, 1, "a")], loose=False)
        == f"maps a positive {math_span('a', 1)}"
    )
