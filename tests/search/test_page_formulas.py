"""Formulas for pages: without inline styles, without what a converter left in them, and found where a source did not
mark them."""

from __future__ import annotations

import re
import time

import pytest

from porism.formula import parse
from porism.search.display.page_math import is_blank, page_math
from porism.search.display.post_formulas import readable_latex
from porism.search.display.snippet import with_unmarked
from porism.text.segment import Segment, Text


def test_alignment_becomes_classes() -> None:
    shown = page_math(parse(r"\begin{aligned} a &= b \\ &= c\end{aligned}").mathml)
    assert " style=" not in shown
    assert shown.count('class="m-right m-pr0"') == 2
    assert shown.count('class="m-left m-pl0"') == 2


def test_a_colour_becomes_an_attribute() -> None:
    shown = page_math(parse(r"\color{red}{x}").mathml)
    assert 'mathcolor="#FF0000"' in shown
    assert " style=" not in shown


def test_a_class_of_a_highlight_is_kept() -> None:
    assert page_math('<mtd class="highlight" style="text-align: left;"><mi>a</mi></mtd>') == (
        '<mtd class="highlight m-left"><mi>a</mi></mtd>'
    )


def test_roots_get_struts() -> None:
    shown = page_math("<math><mroot><mi>x</mi><mn>3</mn></mroot><msqrt><mn>2</mn></msqrt></math>")
    strut = '<mspace height="0.77em"></mspace>'
    assert shown == (
        f"<math><mroot><mrow>{strut}<mi>x</mi></mrow><mn>3</mn></mroot><msqrt>{strut}<mn>2</mn></msqrt></math>"
    )


def test_nested_roots_stay_well_formed() -> None:
    from lxml import etree

    shown = page_math(parse(r"\sqrt[3]{\sqrt[n]{x}+\sqrt{y}}").mathml)
    root = etree.fromstring(shown)
    assert [len(one) for one in root.iter("mroot")] == [2, 2]


@pytest.mark.parametrize(
    ("latex", "stretchy"),
    [
        (r"\left(2\right)", 0),
        (r"\left|f_t(x)\right>", 0),
        (r"\left(\hat{x}+y^{2}\right)", 0),
        (r"\left(\frac{1}{2}\right)", 2),
        (r"\left(\sum_i x_i\right)", 2),
        (r"\left(\frac{x}{\left|x\right|}\right)", 2),
        (r"e^{e^{e^{\left(x\right)}}}", 0),
        (r"\bigl(x\bigr)", 0),
    ],
)
def test_brackets_stretch_only_around_what_is_tall(latex: str, stretchy: int) -> None:
    # A bracket that can stretch is as wide as the widest of the font, which leaves gaps beside it.
    shown = page_math(parse(latex).mathml)
    brackets = re.findall(r"<mo([^>]*)>[()|⟩]</mo>", shown)
    assert sum("stretchy" not in one and "size" not in one for one in brackets) == stretchy


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"a\vapsilon", '<mi mathvariant="normal">vapsilon</mi>'),
        (r"\ds{H}", "<mi>H</mi>"),
        (r"\quadx", '<mrow><mspace width="1em"></mspace><mi>x</mi></mrow>'),
    ],
)
def test_unknown_commands_are_shown_without_their_backslash(latex: str, shown: str) -> None:
    made = page_math(parse(latex).mathml)
    assert shown in made
    assert "merror" not in made
    assert "\\" not in made


def test_a_formula_that_only_defines_macros_shows_nothing() -> None:
    assert is_blank(parse(r"\newcommand{\a}{b}").mathml)
    assert not is_blank(parse("x").mathml)


def test_underlines_and_primes_of_symbols_with_an_index() -> None:
    assert '<mo stretchy="true">_</mo></munder>' in page_math(parse(r"\underline{x}").mathml)
    assert '<mo class="m-prime">′</mo></msubsup>' in page_math(parse("M_0'").mathml)


@pytest.mark.parametrize(
    ("latex", "readable"),
    [
        ("a^2+b^2", "a^2+b^2"),
        (r"x^{2}=z^{2}\qvar@construct{$}\par", "x^{2}=z^{2}"),
        (r"E[X]=\qvar@construct{?}", "E[X]=?"),
        (r"A{\qvar@construct{\land}}B", r"A{\land}B"),
        (r"\overset{\qvar@construct{missing}}{=}", r"\overset{{\square}}{=}"),
        (r"\ce{^{4}He}", r"\mathrm{^{4}He}"),
        (r"k\text{height $}\par\end{document}", r"k\text{height }"),
        (r"\lx@sectionsign 2.5", r"\text{§} 2.5"),
        (r"\@@eqnarray$\displaystyle a$&$=$&$b$", r"\begin{aligned}a& = b\end{aligned}"),
        (r"\begin{eqnarray*}a&=&b\\&=&c\end{eqnarray*}", r"\begin{aligned}a& = b\\& = c\end{aligned}"),
        (r"a\\[7pt]b", r"\begin{gathered}a\\ b\end{gathered}"),
        (r"x\on y=1,\\ y=\left(2\right)\\", r"\begin{gathered}x\on y=1,\\ y=\left(2\right)\end{gathered}"),
        (r"\left(a\\ b\right)", r"\left(a\\ b\right)"),
        (r"} \\ 1", r"} \\ 1"),
        (r"\substack{a\\b}", r"\substack{a\\b}"),
    ],
)
def test_readable_latex(latex: str, readable: str) -> None:
    assert readable_latex(latex) == readable


def text_of(*pieces: Segment) -> Text:
    return Text.of(pieces)


@pytest.mark.parametrize("opener", [r"\@@align", r"\@@eqnarray{", r"\@@align\right."])
def test_many_tables_that_are_never_closed_take_little_time(opener: str) -> None:
    began = time.process_time()
    assert "@" not in readable_latex(opener * 3000)
    assert time.process_time() - began < 2


def test_an_environment_that_was_cut_is_joined() -> None:
    cut = text_of(
        Segment("tag", "<p>"),
        Segment("text", r"So \begin{align*} a&=b &\mbox{(as "),
        Segment("formula", "x", 4, 5),
        Segment("text", r")}\end{align*} holds, for $5."),
        Segment("tag", "</p>"),
    )
    found = with_unmarked(cut).segments
    assert [(one.kind, one.text) for one in found[1:4]] == [
        ("text", "So "),
        ("formula", r"\begin{align*} a&=b &\mbox{(as $x$)}\end{align*}"),
        ("text", " holds, for $5."),
    ]
    assert found[2].display


def test_dollars_around_a_formula_are_a_formula_and_prices_are_not() -> None:
    found = with_unmarked(text_of(Segment("text", r"Is $\sqrt 2$ more than $5 or $10?"))).segments
    assert [(one.kind, one.text) for one in found] == [
        ("text", "Is "),
        ("formula", r"\sqrt 2"),
        ("text", " more than $5 or $10?"),
    ]


def test_a_reference_to_an_equation_is_readable() -> None:
    assert with_unmarked(text_of(Segment("text", r"by \eqref{1} and \ref{two}"))).segments == [
        Segment("text", "by (1) and (two)")
    ]


def test_code_is_left_alone() -> None:
    code = text_of(Segment("tag", "<code>"), Segment("text", r"$\alpha$"), Segment("tag", "</code>"))
    assert with_unmarked(code) == code


def test_an_environment_that_never_ends_is_text() -> None:
    open_ended = text_of(Segment("text", r"\begin{align} a"))
    assert with_unmarked(open_ended) == open_ended
