"""Formulas from Content MathML: it gives the operator tree, and that gives the layout tree."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from porism.formula import parse, parse_mathml, tangent
from porism.formula.mathml.content_writer import to_content
from porism.formula.mathml.presentation import to_presentation
from porism.formula.plaintext import readable


@pytest.mark.parametrize(
    "latex",
    [
        "f(x)+1",
        r"\sum_{k=1}^n k^2",
        r"\int_0^1 x dx",
        "a-(b+c)",
        "-a",
        "a<b<c",
        r"a<b\le c",
        "n!",
        "|x|",
        "(a,b)",
        r"\{a,b\}",
        r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
        "2(a+b)^2",
        r"\frac{a}{b}",
        r"\sqrt[3]x",
        r"\sqrt x",
        r"a\in B",
        r"\forall x P",
        "x_1",
        "[0,1)",
        r"A^{-1}x",
    ],
)
def test_writing_and_reading_content_gives_both_trees(latex: str) -> None:
    parsed = parse(latex)
    again = parse_mathml(to_content(parsed.operators))
    assert again.path == "content"
    assert again.operators == parsed.operators
    assert tangent(again.layout) == tangent(parsed.layout)


@pytest.mark.parametrize(
    "latex",
    [
        r"\binom{n}{k+1}", r"\lim_{x\to 0^+}\frac{\sin x}{x}", r"\limsup_{n\to\infty}a_n", r"a\equiv b\pmod{n}", r"\{x\mid x>0\}",
        r"\langle x,y\rangle", r"\frac{d}{dx}f", r"\frac{d^2y}{dx^2}", r"\frac{\partial g}{\partial x}", r"\bar v", r"\vec n", r"\dot x",
        r"18^\circ", r"s^*", "g''", r"f^{(n)}(a)", r"f|_{A}", r"\log_2 x", r"\max_{i}x_i", r"+\infty", r"2\pi", r"x\in\mathbb{R}",
        r"x_1+\cdots+x_n", r"\mathbb{Z}[x]",
    ],
)  # fmt: skip
def test_the_presentation_of_an_operator_tree_parses_to_it(latex: str) -> None:
    operators = parse(latex).operators
    assert parse_mathml(to_presentation(operators)).operators == operators


def test_deep_nesting_is_written_quickly() -> None:
    operators = parse(r"\binom{1}{" * 40 + "x" + "}" * 40).operators
    assert parse_mathml(to_presentation(operators)).operators == operators


def test_an_operator_without_a_sign_is_written_as_a_function() -> None:
    assert readable(parse_mathml("<math><apply><sin/><ci>x</ci></apply></math>").layout) == "sin(x)"


def test_latexml_content() -> None:
    text = (
        '<math><apply><csymbol cd="ambiguous">superscript</csymbol><ci>𝑥</ci><cn type="integer">2</cn></apply></math>'
    )
    assert tangent(parse_mathml(text).layout) == "[V!x,a[N!2]]"


@pytest.mark.parametrize(
    "text",
    ["<apply", "<ci>", "<math><apply/></math>", "<math><apply><apply>", "<cn></cn>", "<math><ci>&lt;</ci></math>"],
)
def test_ill_formed_content_is_read(text: str) -> None:
    assert parse_mathml(text).mathml.startswith("<math>")


def test_the_presentation_is_clean() -> None:
    parsed = parse(r"\frac{a}{b}<c")
    assert parse_mathml(to_presentation(parsed.operators)).mathml == to_presentation(parsed.operators)


@pytest.mark.shared
def test_official_operator_trees_are_written(shared_data: Path) -> None:
    csv.field_size_limit(10**9)
    with open(
        shared_data / "arqmath-format/topic-formulas/2021_formulas_opt.tsv", encoding="utf-8", newline=""
    ) as file:
        texts = [row[-1] for row in csv.reader(file, delimiter="\t")][1:]
    drawn = [parse_mathml(text) for text in texts if text.strip()]
    assert len(drawn) > 800
    assert all(parsed.path == "content" for parsed in drawn)
