"""Cleaning, segments, plain text and rendering."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from porism.text.html import (
    Segment,
    clean,
    fill,
    formula_ids,
    place,
    plain,
    render,
    segments,
    span,
    token,
    tokens_in_text,
    unescape,
)

POST = '<p>Let <span class="math-container" id="7">a&lt;b &amp; c</span> be.</p><ul><li>x &lt; y</li></ul>'


def test_segments() -> None:
    assert list(segments(POST)) == [Segment("\nLet "), Segment("a<b & c", 7), Segment(" be.\n\n\nx < y\n\n")]


def test_plain_with_formulas_dropped_or_replaced() -> None:
    assert plain(POST).split() == ["Let", "$a<b", "&", "c$", "be.", "x", "<", "y"]
    assert "a<b" not in plain(POST, lambda segment: "")
    assert "[7]" in plain(POST, lambda segment: f"[{segment.formula_id}]")


def test_render_and_ids() -> None:
    assert formula_ids(POST) == [7]
    assert render(POST, lambda number, latex: f"<math>{number}:{latex}</math>").startswith(
        "<p>Let <math>7:a<b & c</math> be."
    )


@pytest.mark.parametrize(
    ("dirty", "expected"),
    [
        ("<script>alert(1)</script>a", "a"),
        ('<p onclick="x()">a</p>', "<p>a</p>"),
        ('<a href="javascript:x">a</a>', '<a rel="nofollow noopener">a</a>'),
        ('<img src="http://a/b.png" onerror="x">', '<img src="http://a/b.png">'),
        ("<iframe src=x></iframe>b", "b"),
        ("<p>a<p>b", "<p>a</p><p>b</p>"),
        ('<span class="math-container" id="1">x</span>', "x"),
    ],
)
def test_clean(dirty: str, expected: str) -> None:
    assert clean(dirty) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("&lt;", "<"),
        ("&amp;lt;", "&lt;"),
        ("a&notin b", "a&notin b"),
        ("&#60;&#x3c;", "<<"),
        ("&unknown;", "&unknown;"),
    ],
)
def test_unescape_once_and_only_whole_entities(text: str, expected: str) -> None:
    assert unescape(text) == expected


def test_tokens_survive_cleaning_but_not_in_tags() -> None:
    text = clean(f'<p>{token(0)} <b>{token(1)}</b></p><img alt="{token(2)}" src="http://x/y">')
    assert tokens_in_text(text) == [0, 1]
    assert fill(text, str).count("2") == 1


@given(st.text(max_size=40))
def test_a_placed_formula_is_read_back_as_it_was(latex: str) -> None:
    text = place(f"a {token(0)} b", [latex], [12])
    assert text == f"a {span(12, latex)} b"
    assert list(segments(text))[1] == Segment(latex, 12)
