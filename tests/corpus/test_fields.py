"""A field is segmented: formulas found, the rest cleaned."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from porism.corpus.build.fields import Field, make_field
from porism.corpus.sources.raw import Form
from porism.text.markup import OPEN, placeholder
from porism.text.segment import Segment, escape_text


def field_html(field: Field) -> str:
    """Return a field as HTML with {ID:LATEX} for each formula."""
    return "".join(
        f"{{{one.formula_id}:{one.text}}}"
        if one.is_formula
        else escape_text(one.text)
        if one.kind == "text"
        else one.text
        for one in field.text.segments
    )


def test_latex_never_goes_through_the_html_parser() -> None:
    field = make_field("<p>$a&lt;script&gt;b$</p><script>$x$</script>", "html", False)
    assert field_html(field) == "<p>{0:a<script>b}</p>"


def test_comment_text() -> None:
    field = make_field("See [this](https://a.b/c_(d)) *now*, `$x$`, **so** $a<b$ & <i>", "text", False)
    assert field_html(field) == (
        'See <a href="https://a.b/c_(d)" rel="nofollow noopener">this</a> <em>now</em>, <code>$x$</code>, '
        "<strong>so</strong> {0:a<b} &amp; &lt;i&gt;"
    )


def test_a_title_that_was_escaped_twice() -> None:
    assert field_html(make_field("Is $a &lt; b$ &amp; c?", "text", False)) == "Is {0:a < b} &amp; c?"


def test_text_is_decoded_once() -> None:
    assert field_html(make_field("write &amp;lt; for &lt;", "text", False)) == "write &amp;lt; for &lt;"


def test_formulas_are_numbered_by_class_and_kept_in_order_of_position() -> None:
    field = make_field("<p>$a$ $$b$$ $c$</p>", "html", False)
    assert [one.text for one in field.text.formulas] == ["a", "b", "c"]
    assert field.order == (1, 0, 2)


def test_compat_keeps_a_formula_without_a_position() -> None:
    field = make_field('<p>$a$ <img alt="$b$" src="http://x/y"></p>', "html", True)
    assert [one.text for one in field.text.formulas] == ["a"]
    assert field.lost == ("b",)
    assert 'alt="b"' in field_html(field)


def test_placed() -> None:
    text = (
        '<p><span class="math-container" id="5">a &amp; <span>b</span></span> <span class="math-container">c</span></p>'
    )
    assert field_html(make_field(text, "placed", False)) == "<p>{5:a & <span>b</span>} {0:c}</p>"


def test_a_placed_formula_in_an_attribute_follows_the_tag() -> None:
    text = '<p><img alt="<span class="math-container" id="5">a&gt;b</span>" src="http://x/y"></p>'
    assert field_html(make_field(text, "placed", False)) == '<p><img alt="a&gt;b" src="http://x/y">{5:a>b}</p>'


ALIGN = r"\begin{align*} a &amp;= b \\ &amp;&lt; c \end{align*}"


@pytest.mark.parametrize(("form", "close"), [("placed", "</p>"), ("placed-text", "")])
def test_an_environment_outside_the_official_spans_is_a_formula(form: Form, close: str) -> None:
    span = '<span class="math-container" id="5">x</span>'
    text = f"{'<p>' if close else ''}So {span} and\n{ALIGN}{close}"
    field = make_field(text, form, False)
    assert [(one.formula_id, one.text, one.display) for one in field.text.formulas] == [
        (5, "x", False),
        (0, r"\begin{align*} a &= b \\ &< c \end{align*}", True),
    ]
    assert len(make_field(text, form, True).text.formulas) == 1, "the lab has no such formulas"


def test_dollar_signs_outside_the_official_spans_are_formulas() -> None:
    span = '<span class="math-container" id="5">x</span>'
    field = make_field(f"<p>{span}: $a &lt; b$ or \\(c\\), $d {span} e$</p>", "placed", False)
    assert field_html(field) == "<p>{5:x}: {0:a < b} or {0:c}, $d {5:x} e$</p>"


@pytest.mark.parametrize(
    "text",
    [
        r"<code>\begin{align} x \end{align}</code>",
        r"<p>\begin{align} x</p><p>\end{align}</p>",
        r'\begin{align} <span class="math-container" id="5">x</span> \end{align}',
        r"\begin{theorem} x \end{theorem}",
        r"\begin{align} x",
    ],
)
def test_an_environment_that_pages_do_not_render_is_text(text: str) -> None:
    assert all(one.formula_id for one in make_field(text, "placed", False).text.formulas)


def test_placeholders_of_the_source_are_replaced() -> None:
    assert OPEN not in make_field(f"a {placeholder(3)} b", "html", False).text.stored


FORGERIES = [
    "\ue0000\ue001",
    "&#xE000;0&#xE001;",
    "&#57344;0&#57345;",
    "&#x0e0000&#xE001",
    "&amp;#xE000;0&amp;#xE001;",
    "&#xE000;99&#xE001;",
]


@pytest.mark.parametrize("forged", FORGERIES)
def test_forged_placeholders_are_no_formulas(forged: str) -> None:
    for form, text, formulas in (
        ("html", f"<p>{forged} $x$ {forged}</p>", 1),
        ("text", f"{forged} $x$", 1),
        ("spans", f"<p>{forged}</p>", 0),
    ):
        assert len(make_field(text, form, False).text.formulas) == formulas  # type: ignore[arg-type]
    for form in ("placed", "placed-text"):
        field = make_field(f'{forged} <span class="math-container" id="5">x</span>', form, False)  # type: ignore[arg-type]
        assert field.text.segments[-1] == Segment("formula", "x", 5)
        assert len(field.text.formulas) == 1


@given(st.text(alphabet="$<>&;\"'=/abp x\ue000\ue0010", max_size=60), st.booleans())
def test_any_field_can_be_segmented(text: str, compat: bool) -> None:
    for form in ("html", "text", "spans", "placed", "placed-text"):
        field = make_field(text, form, compat)  # type: ignore[arg-type]
        assert sorted(field.order) == list(range(len(field.text.formulas)))
