"""Properties of any text."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from porism.formula import from_tangent, parse, parse_mathml, tangent
from porism.formula.binary import pack, unpack
from porism.formula.layout.build import MAX_DEPTH
from porism.formula.layout.tuples import mathtuples
from porism.formula.plaintext import outline, readable

PIECES = [
    r"{",
    r"}",
    r"(",
    r")",
    r"[",
    r"]",
    r"|",
    r"\|",
    r"\{",
    r"\}",
    r"^",
    r"_",
    r"&",
    r"\\",
    r"\frac",
    r"\sqrt",
    r"\sqrt[",
    r"\left",
    r"\right",
    r"\left(",
    r"\right)",
    r"\left|",
    r"\right|",
    r"\begin{matrix}",
    r"\end{matrix}",
    r"\begin{cases}",
    r"\end{cases}",
    r"\begin{align}",
    r"\sin",
    r"\lim",
    r"\sum",
    r"\limits",
    r"\text{",
    r"\mathbf",
    r"\mathrm{",
    r"\over",
    r"\choose",
    r"\not",
    r"\big",
    r"\bigl(",
    r"\middle|",
    r"\langle",
    r"\rangle",
    r"\hat",
    r"\overline{",
    r"x",
    r"y",
    r"1",
    r".5",
    r"+",
    r"-",
    r"=",
    r"<",
    r",",
    r".",
    r"'",
    r"$",
    r"%",
    r"~",
    r"\,",
    r"\foo",
    r"\def\a{",
    r"\a",
    r"\newcommand{\b}[1]{",
    r"\operatorname{",
    r"\color{red}",
    r"\hline",
    r"\mathop",
    r"\substack{",
    r"\overset",
    r"\underbrace",
    r"\tag{",
    r"\label{",
    r"\ce{",
    r"&lt;",
    r"&amp;",
    r"é",
    r"²",
    r"∑",
    r"√",
    r"#",
    r"?",
    r"!",
    r"\qvar{",
    r"\let\c=",
    r"\unicode{x",
    r"\root",
    r"\of",
    r"\matrix{",
    r"\cr",
]

pieces = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def check(latex: str) -> None:
    """Check everything that holds for any text."""
    parsed = parse(latex)
    for problem in parsed.problems:
        assert 0 <= problem.start <= problem.end <= len(latex)
        assert problem.message
    written = tangent(parsed.layout)
    assert from_tangent(written) == parsed.layout
    layout, operators = unpack(pack(parsed))
    assert layout == parsed.layout
    assert operators == parsed.operators
    again = parse_mathml(parsed.mathml)
    if parsed.path != "opaque":
        assert tangent(again.layout) == written
        assert again.mathml == parsed.mathml
        assert [node.places for node in again.layout.walk()] == [node.places for node in parsed.layout.walk()]
    readable(parsed.layout)
    outline(parsed.layout)
    assert mathtuples(parsed.layout)[0] == "#(start)#"


@settings(max_examples=300, deadline=None)
@given(st.text())
@example("\ud800")
@example("\x00{\x01")
def test_any_text(latex: str) -> None:
    check(latex)


@settings(max_examples=400, deadline=None)
@given(pieces)
@example(r"\operatorname{<")
@example("\xb2{_\\sin\\substack{")
def test_any_pieces_of_latex(latex: str) -> None:
    check(latex)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("<>/&;=\"' mathirowntbldsupfc1x"), max_size=80))
def test_any_text_as_mathml(text: str) -> None:
    parsed = parse_mathml(text)
    assert from_tangent(tangent(parsed.layout)) == parsed.layout


@pytest.mark.shared
def test_mutated_formulas(shared_data: object) -> None:
    """Real formulas with pieces removed, inserted and doubled."""
    chance = random.Random(7)
    with open(f"{shared_data}/slice/formulas.tsv", encoding="utf-8", newline="\n") as file:
        formulas = [line.split("\t")[5] for line in file]
    for latex in chance.sample(formulas, 1500):
        for _ in range(chance.randint(1, 5)):
            at = chance.randint(0, len(latex))
            action = chance.random()
            if action < 0.4:
                latex = latex[:at] + latex[at + chance.randint(1, 4) :]
            elif action < 0.8:
                latex = latex[:at] + chance.choice(PIECES) + latex[at:]
            else:
                latex = latex[:at] + latex[at : at + 20] * 3 + latex[at:]
        check(latex)


def test_depth_is_bounded() -> None:
    deep = parse("x^{" * 99 + "x" + "}" * 99)
    assert deep.path == "math-core"
    assert parse("{(" * 99 + "x" + ")}" * 99).layout.size() > 0
    assert MAX_DEPTH == 100
