"""A field becomes clean HTML with formulas cut out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from porism.corpus.build.fields import Field, make_field
from porism.text.html import OPEN, token


def test_latex_never_goes_through_the_html_parser() -> None:
    field = make_field("<p>$a&lt;script&gt;b$</p><script>$x$</script>", "html", False)
    assert field == Field(f"<p>{token(0)}</p>", ("a<script>b",), (0,))


def test_comment_text() -> None:
    field = make_field("See [this](https://a.b/c_(d)) *now*, `$x$`, **so** $a<b$ & <i>", "text", False)
    assert field.text == (
        'See <a href="https://a.b/c_(d)" rel="nofollow noopener">this</a> <em>now</em>, <code>$x$</code>, '
        f"<strong>so</strong> {token(0)} &amp; &lt;i&gt;"
    )
    assert field.latex == ("a<b",)


def test_title_that_was_escaped_twice() -> None:
    assert make_field("Is $a &lt; b$ &amp; c?", "text", False) == Field(f"Is {token(0)} &amp; c?", ("a < b",), (0,))


def test_text_is_decoded_once() -> None:
    assert make_field("write &amp;lt; for &lt;", "text", False).text == "write &amp;lt; for &lt;"


def test_compat_keeps_a_formula_that_has_no_place() -> None:
    field = make_field('<p>$a$ <img alt="$b$" src="http://x/y"></p>', "html", True)
    assert field.latex == ("a",)
    assert field.lost == ("b",)
    assert 'alt="b"' in field.text


def test_placed() -> None:
    text = (
        '<p><span class="math-container" id="5">a &amp; <span>b</span></span> <span class="math-container">c</span></p>'
    )
    field = make_field(text, "placed", False)
    assert field == Field(f"<p>{token(0)} {token(1)}</p>", ("a & <span>b</span>", "c"), (5, 0))


def test_placed_in_an_attribute_stands_after_the_tag() -> None:
    text = '<p><img alt="<span class="math-container" id="5">a&gt;b</span>" src="http://x/y"></p>'
    assert make_field(text, "placed", False).text == f'<p><img alt="a&gt;b" src="http://x/y">{token(0)}</p>'


def test_tokens_of_the_source_are_not_ours() -> None:
    assert OPEN not in make_field(f"a {token(3)} b", "html", False).text


FORGERIES = [
    "\ue0000\ue001",
    "&#xE000;0&#xE001;",
    "&#57344;0&#57345;",
    "&#x0e0000&#xE001",
    "&amp;#xE000;0&amp;#xE001;",
    "&#xE000;99&#xE001;",
]


@pytest.mark.parametrize("forged", FORGERIES)
def test_forged_tokens_place_nothing(forged: str) -> None:
    for form, text in (
        ("html", f"<p>{forged} $x$ {forged}</p>"),
        ("text", f"{forged} $x$"),
        ("spans", f"<p>{forged}</p>"),
    ):
        field = make_field(text, form, False)  # type: ignore[arg-type]
        assert field.text.count(OPEN) == len(field.latex)
    for form in ("placed", "placed-text"):
        field = make_field(f'{forged} <span class="math-container" id="5">x</span>', form, False)  # type: ignore[arg-type]
        assert field.text.count(OPEN) == 1
        assert field.text.endswith(token(0))


@given(st.text(alphabet="$<>&;\"'=/abp x\ue000\ue0010", max_size=60), st.booleans())
def test_no_token_without_its_formula(text: str, compat: bool) -> None:
    for form in ("html", "text", "spans", "placed", "placed-text"):
        field = make_field(text, form, compat)  # type: ignore[arg-type]
        assert field.text.count(OPEN) == len(field.latex) == len(field.ids)
