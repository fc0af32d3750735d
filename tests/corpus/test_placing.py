"""Official formulas get their place by the lab's rule."""

from __future__ import annotations

import pytest

from porism.corpus.build.placing import insert_spans
from porism.text.html import span

BARE = '<span class="math-container">'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a {BARE}$$ x $$</span> b", f"a {span(1, 'x')} b"),
        (f"a {BARE}$$x$$</span> b", f"a {span(1, 'x')} b"),
        (f"a {BARE}$x$</span> b", f"a {span(1, 'x')} b"),
        (f"a {BARE}x</span> b", f"a {span(1, 'x')} b"),
        ("a $$x$$ b", f"a {span(1, 'x')} b"),
        ("a $x$ b", f"a {span(1, 'x')} b"),
        ("a x b", "a x b"),
        (f"$x$ and {BARE}x</span>", f"{span(1, 'x')} and {BARE}x</span>"),
        ("$x$ and $x$", f"{span(1, 'x')} and $x$"),
    ],
)
def test_the_earliest_of_the_spellings_once(text: str, expected: str) -> None:
    assert insert_spans(text, [(1, "x")], loose=False) == expected


def test_the_longest_first() -> None:
    assert (
        insert_spans("$a $b$ c$ $b$", [(1, "b"), (2, "a $b$ c")], loose=False) == f"{span(2, 'a $b$ c')} {span(1, 'b')}"
    )


def test_escaped_latex_and_line_ends() -> None:
    assert insert_spans("$a &lt;\nb$", [(1, "a < b")], loose=False) == span(1, "a < b")


def test_spans_that_have_an_id_are_left_alone() -> None:
    text = f"{span(7, '$x$')} $x$"
    assert insert_spans(text, [(1, "x")], loose=False) == f"{span(7, '$x$')} {span(1, 'x')}"


def test_between_blanks_only_to_reproduce_the_lab() -> None:
    assert insert_spans("maps a positive $a$", [(1, "a")], loose=True) == f"maps{span(1, 'a')}positive $a$"
    assert insert_spans("maps a positive $a$", [(1, "a")], loose=False) == f"maps a positive {span(1, 'a')}"
