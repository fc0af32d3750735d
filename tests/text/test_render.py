"""Cleaning, segments, plain text and HTML."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from porism.text.markup import math_span, placeholder
from porism.text.page import MOST_MATH, MathBudget, PageRenderer
from porism.text.read import _cut_any, clean, cut_official, read_official, segment_html
from porism.text.segment import Segment, Text, comment_source, plain_text, prose, terminal_text

POST = '<p>Let <span class="math-container" id="7">a&lt;b &amp; c</span> be.</p><ul><li>x &lt; y</li></ul>'


def test_prose_has_no_mark_up() -> None:
    assert prose(read_official(POST)) == [
        Segment("text", "\nLet "),
        Segment("formula", "a<b & c", 7),
        Segment("text", " be.\n\n\nx < y\n\n"),
    ]


def test_plain_text_with_formulas_dropped_or_replaced() -> None:
    text = read_official(POST)
    assert text.plain().split() == ["Let", "$a<b", "&", "c$", "be.", "x", "<", "y"]
    assert "a<b" not in plain_text(text, lambda segment: "")
    assert "[7]" in plain_text(text, lambda segment: f"[{segment.formula_id}]")
    assert terminal_text(text) == "Let $a<b & c$ be.\n\nx < y"


def test_the_official_form_is_read_and_written() -> None:
    assert read_official(POST).html() == POST
    displayed = f"<p>{math_span('x', 3, display=True)} and&nbsp;more</p>"
    assert read_official(displayed).html() == displayed
    assert [one.formula_id for one in read_official(POST).formulas] == [7]


def test_a_comment_is_written_as_its_author_typed_it() -> None:
    comment = read_official(
        'See <a href="http://a.b/?c&amp;d">this</a> <em>and</em> <code>a*b</code> &lt; <strong>x</strong>'
    )
    assert comment_source(comment) == "See [this](http://a.b/?c&d) *and* `a*b` < **x**"


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


def test_formulas_survive_cleaning_but_not_inside_tags() -> None:
    text = clean(f'<p>{placeholder(0)} <b>{placeholder(1)}</b></p><img alt="{placeholder(2)}" src="http://x/y">')
    formulas = [Segment("formula", latex) for latex in ("x", "y", "a<b")]
    segmented = segment_html(text, formulas)
    assert segmented.numbers == [0, 1]
    assert segmented.text.segments[-1] == Segment("tag", '<img alt="a&lt;b" src="http://x/y">')
    assert segment_html(text, formulas, keep_all=True).numbers == [0, 1, 2]


STORED = "\x1c\x1d\x1e\x1f"


@given(
    st.lists(st.tuples(st.sampled_from(["text", "tag", "formula"]), st.text(max_size=10), st.booleans()), max_size=8)
)
def test_segments_are_stored_and_read_back(pieces: list[tuple[str, str, bool]]) -> None:
    segments = [
        Segment("formula", text, at, at + 1, display) if kind == "formula" else Segment(kind, text)  # type: ignore[arg-type]
        for at, (kind, text, display) in enumerate(pieces)
        if not set(text) & set(STORED)
    ]
    text = Text.of(segments)
    assert (
        [one for one in text.segments if one.is_formula] == [one for one in segments if one.is_formula] == text.formulas
    )
    assert "".join(one.text for one in text.segments) == "".join(one.text for one in segments)
    assert Text.of(text.segments) == text == text.with_formulas(text.formulas)


def test_the_marks_of_the_stored_form_cannot_be_forged() -> None:
    text = Text.of([Segment("text", "a\x1e1 2 x"), Segment("formula", "y\x1cz", 3, 4)])
    assert text.segments == [Segment("text", "a 1 2 x"), Segment("formula", "y z", 3, 4)]


def test_a_page_trusts_no_stored_tag() -> None:
    page = PageRenderer(lambda segment: "<math></math>")
    forged = [
        "<script>",
        '<p onclick="x">',
        '<a href="javascript:x">',
        '<a href="java&#10;script:x">',
        "<p",
        '<td align="left">',
    ]
    shown = [page.render(Text.of([Segment("tag", tag)])) for tag in forged]
    assert shown == ["", "<p>", "<a>", "<a>", "", '<td align="left">']


@given(
    st.lists(
        st.sampled_from(
            ['<span class="math-container" id="7">', '<span class="display">', "</span>", "x", "<b>", "$", "&lt;"]
        ),
        max_size=12,
    )
)
def test_spans_in_the_usual_form_are_cut_like_any_other(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert cut_official(text) == _cut_any(text)


def test_formulas_beyond_the_budget_of_a_page_are_shown_as_latex() -> None:
    large = f"<math>{'<mi>x</mi>' * 200_000}</math>"
    text = Text.of([Segment("formula", f"a<{number}") for number in range(100)])
    shown = PageRenderer(lambda segment: large).render(text)
    assert len(shown) < MOST_MATH + 2 * len(large)
    assert shown.count("<math>") == 4
    assert shown.endswith("<code>a&lt;98</code><code>a&lt;99</code>")
    assert sum(block.count("<math>") for block in PageRenderer(lambda segment: large).blocks(text)) == 4
    page = PageRenderer(lambda segment: large, budget=MathBudget().whole_page)
    assert [page.render(text).count("<math>") for _ in range(2)] == [4, 0]
