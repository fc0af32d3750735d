"""Parsed formulas as keys: equal when they were parsed from the same input."""

from __future__ import annotations

import pytest

from porism.formula import Parsed, parse, parse_mathml
from porism.formula.latex.macros import Macro
from porism.formula.parsed import opaque

MATHML = "<math><mi>x</mi></math>"
CONTENT = "<math><ci>y</ci></math>"


def every_kind() -> list[Parsed]:
    """Formulas that all differ in what they were parsed from."""
    return [
        parse("x?y"),
        parse("x?y", wildcards=True),
        parse(r"\R"),
        parse(r"\R", macros={"\\R": Macro(r"\mathbb{R}")}),
        parse(r"\R", macros={"\\R": Macro(r"\mathcal{R}")}),
        parse("x" * 20_001),
        parse_mathml(MATHML),
        parse_mathml(MATHML, latex="x"),
        parse_mathml(MATHML, content=CONTENT),
        parse_mathml(CONTENT),
        opaque("z"),
    ]


def test_formulas_of_the_same_input_are_equal() -> None:
    first, second = every_kind(), every_kind()
    assert first == second
    assert len({*first, *second}) == len(first)


def test_a_cache_of_formulas_hits() -> None:
    cache = {parse(r"\frac{a}{b}", wildcards=True): 1}
    assert cache[parse(r"\frac{a}{b}", wildcards=True)] == 1


@pytest.mark.parametrize("other", [None, "x", parse("y")])
def test_a_formula_differs_from_everything_else(other: object) -> None:
    assert parse("x") != other


def test_an_opaque_formula_keeps_its_text() -> None:
    formula = opaque(r"\if<")
    assert (formula.latex, formula.path) == (r"\if<", "opaque")
    assert formula.mathml == r"<math><mtext>\if&lt;</mtext></math>"
