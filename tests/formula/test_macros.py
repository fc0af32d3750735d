"""User macros."""

from __future__ import annotations

import pytest

from porism.formula import parse, tangent
from porism.formula.latex.editable import EditableLatex
from porism.formula.latex.macros import FREE, RATIO, Budget, Macro, definitions, expand_macros
from porism.text.find import expand


def test_definitions_of_a_document() -> None:
    text = r"""\newcommand{\R}{\mathbb R} \renewcommand\vec[1]{\mathbf{#1}} \def\pair#1#2{(#1,#2)} \DeclareMathOperator{\Spec}{Spec}
    \DeclareMathOperator*{\colim}{colim} \let\eps=\varepsilon \newcommand{\p}[2][x]{#1+#2} \providecommand{\z}{0}"""
    assert definitions(text) == {
        r"\R": Macro(r"\mathbb R"),
        r"\vec": Macro(r"\mathbf{#1}", 1),
        r"\pair": Macro("(#1,#2)", 2),
        r"\Spec": Macro(r"\operatorname{Spec}"),
        r"\colim": Macro(r"\operatorname*{colim}"),
        r"\eps": Macro(r"\varepsilon"),
        r"\p": Macro("#1+#2", 2, "x"),
        r"\z": Macro("0"),
    }


@pytest.mark.parametrize(
    ("latex", "same"),
    [
        (r"\pair ab", "(a,b)"),
        (r"\pair{x+1}{\eps}", r"(x+1,\varepsilon)"),
        (r"\eps x", r"\varepsilon x"),
        (r"\pair{\pair12}3", "((1,2),3)"),
    ],
)
def test_macros_of_a_document_are_expanded(latex: str, same: str) -> None:
    macros = definitions(r"\def\pair#1#2{(#1,#2)}\let\eps\varepsilon")
    parsed = parse(latex, macros=macros)
    assert tangent(parsed.layout) == tangent(parse(same).layout)
    assert parsed.repairs == ("macros",)
    assert parsed.problems == ()


def test_problems_have_positions_in_the_users_text() -> None:
    problem = parse(r"\def\a{\foo}x+\a").problems[0]
    assert (problem.message, problem.start) == (r"unknown command \foo", 14)


DOUBLING = r"\def\a{xy}\def\b{\a\a}\def\c{\b\b}\def\d{\c\c}\def\e{\d\d}\def\f{\e\e}\def\g{\f\f}\def\h{\g\g}"


@pytest.mark.parametrize(
    "latex",
    [
        DOUBLING + r"\def\i{\h\h}\def\j{\i\i}\def\k{\j\j}\def\l{\k\k}\l",
        r"\def\a#1{#1#1#1#1#1#1#1#1}\a{\a{\a{\a{\a{\a{\a{\a{x}}}}}}}}",
        r"\def\a#1{" + "#1" * 3000 + r"}\a{" + "x" * 3000 + "}",
        r"\def\a{\b}\def\b{\a}\a",
        r"\let\a\b\let\b\a\a",
        r"\def\a" + "#1" * 3000 + r"{x}\a",
    ],
)
def test_macros_write_no_more_than_a_few_times_the_length(latex: str) -> None:
    source = EditableLatex(latex)
    expand_macros(source)
    assert len(source.text) <= (1 + RATIO) * len(latex) + FREE
    assert len(source.positions) == len(source.text) + 1
    assert set(source.positions) <= set(range(len(latex) + 1))


def test_formulas_of_a_text_share_a_budget() -> None:
    macros = definitions(r"\def\a{" + "x" * 5_000 + "}")
    budget = Budget(2_000)
    expanded = [expand(r"\a+" + str(number), macros, budget) for number in range(10)]
    assert [len(latex) > 5_000 for latex in expanded] == [True, True, *([False] * 8)]
    assert expanded[2:] == [rf"\a+{number}" for number in range(2, 10)]
    assert budget.refused == 8


def test_many_uses_of_short_macros_are_expanded() -> None:
    macros = definitions(r"\def\R{\mathbb{R}}\def\eps{\varepsilon}")
    latex = r"x\in\R,\eps>0, " * 1_000
    assert expand(latex, macros, Budget(len(latex))) == r"x\in\mathbb{R},\varepsilon>0, " * 1_000


def test_a_default_that_is_never_closed_is_read_in_linear_time() -> None:
    assert definitions("\\newcommand\\a[" * 30_000)["\\a"].body == "["
