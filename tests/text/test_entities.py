"""Entities are decoded exactly once, in text and in LaTeX."""

from __future__ import annotations

import pytest

from porism.text.markup import decode_entities, decode_latex, unescape


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
def test_entities_are_decoded_once_and_only_whole_ones(text: str, expected: str) -> None:
    assert decode_entities(text) == decode_latex(text) == expected


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"\begin{align}a &amp;= b\end{align}", r"\begin{align}a &= b\end{align}"),
        (r"r_{i+1}&\displaystyle amp;=\,x", r"r_{i+1}&\displaystyle =\,x"),
        (r"&\displaystyle amp;x=\pm 1\\ &\displaystyle amp;x=i", r"&\displaystyle x=\pm 1\\ &\displaystyle x=i"),
        (r"\int_{|u|\hfil&\displaystyle lt;a}f", r"\int_{|u|<a}f"),
        (
            r"$\zeta(2)$&$\displaystyle amp;=$&$\displaystyle amp;\frac12$",
            r"$\zeta(2)$&$\displaystyle =$&$\displaystyle \frac12$",
        ),
        (r"$a$&$\displaystyle gt;b$", "$a>b$"),
        (r"0 & amp;1 \\ 1 & amp;0", r"0 & 1 \\ 1 & 0"),
        (r"x & lt;0 \\ amp; & amp;y", r"x<0 \\  & y"),
        (r"x&\displaystyle#39;", "x'"),
        (r"x\&gt;dx", r"x\>dx"),
    ],
)
def test_entities_that_a_converter_took_apart(latex: str, expected: str) -> None:
    assert decode_latex(latex) == expected
    assert decode_latex(expected) == expected


@pytest.mark.parametrize("latex", [r"\text{lamp; table}", r"a\lt b; c\gt d;", "a & b; c", r"x&amp y", ""])
def test_other_latex_stays_as_it_is(latex: str) -> None:
    assert decode_latex(latex) == latex


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("&#" + "0" * 5000 + "65;b", "Ab"),
        ("&#" + "9" * 5000 + ";b", "\ufffdb"),
        ("&#x" + "0" * 5000 + "41;&#X" + "f" * 5000 + ";", "A\ufffd"),
        ("&#" + "0" * 5000 + ";", "\ufffd"),
        ("&lt;&#120;&#x;" + "a" * 5000, "<x&#x;" + "a" * 5000),
    ],
)
def test_numbers_of_any_length_are_decoded_as_a_browser_does(text: str, expected: str) -> None:
    assert unescape(text) == expected
