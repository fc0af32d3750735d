"""User macros."""

from __future__ import annotations

import pytest

from porism.formula import parse, tangent
from porism.formula.latex.macros import Macro, definitions


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
