"""No formula of a post can push everything else off the page."""

from __future__ import annotations

import re

import pytest

from porism.formula import parse
from porism.search.display.page_math import LARGEST_EM, LARGEST_TOTAL_EM, page_math

HUGE = (
    r"a\hspace{99999em}b",
    r"a\hskip 99999em b",
    r"a\kern 9999em b",
    r"a\mkern 99999mu b",
    r"a\mspace{99999mu}b",
    r"\raisebox{9999em}{x}",
    r"\genfrac{(}{)}{9999pt}{0}{a}{b}",
    r"\rule{9999em}{9999em}",
    r"\hspace{-99999em}x",
    r"\hspace{9999cm}x",
    r"\qquad" * 2000 + "x",
    r"\left(\rule{0pt}{9999em}\right)",
)


def lengths(mathml: str) -> list[float]:
    return [abs(float(number)) for number in re.findall(r'="([+-]?[0-9.]+)(?:r?em|ex|px|pt|cm)"', mathml)]


@pytest.mark.parametrize("latex", HUGE, ids=lambda text: text[:30])
def test_lengths_are_bounded(latex: str) -> None:
    found = lengths(page_math(parse(latex).mathml))
    assert max(found, default=0) <= LARGEST_EM
    assert sum(found) <= LARGEST_TOTAL_EM + 2  # and the space that exceeds it


@pytest.mark.parametrize(
    ("attribute", "shown"),
    [
        ('width="2em"', 'width="2em"'),
        ('width="99999em"', 'width="40em"'),
        ('width="99999vw"', ""),
        ('width="1.2.3em"', ""),
        ('voffset="-9999pt"', 'voffset="-40em"'),
        ('height="0"', 'height="0"'),
        ('scriptlevel="-99"', ""),
        ('scriptlevel="1"', 'scriptlevel="1"'),
        ('columnspan="2"', 'columnspan="2"'),
        ('columnspan="99999999999"', ""),
    ],
)
def test_attributes_of_mathml(attribute: str, shown: str) -> None:
    expected = f"<mpadded {shown}>" if shown else "<mpadded>"
    assert page_math(f"<math><mpadded {attribute}></mpadded></math>") == f"<math>{expected}</mpadded></math>"


def test_usual_formulas_stay_as_they_are() -> None:
    for latex in (r"a\,b\quad c", r"\Bigg(\frac ab\Bigg)", r"\begin{matrix}1&2\\3&4\end{matrix}", r"\hphantom{x}y"):
        mathml = parse(latex).mathml
        assert page_math(mathml).count("em") >= mathml.count("em") - mathml.count("padding")
