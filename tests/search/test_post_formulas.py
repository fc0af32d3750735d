from __future__ import annotations

import pytest

from porism.analysis.features import flat_layout
from porism.formula import parse
from porism.search.display.post_formulas import mathml_of, parsed_formula

LATEX = (r"a^2+b^2=c^2", r"\frac{x+1}{\sqrt{y}}", r"\sum_{k=1}^n k = \frac{n(n+1)}{2}", "x", "", r"\frac{", "a<b<c")


@pytest.mark.parametrize("latex", LATEX)
def test_cached_formulas_equal_parsed_ones(latex: str) -> None:
    assert mathml_of(latex) == parse(latex).mathml
    assert parsed_formula(latex).layout.labels == flat_layout(parse(latex).layout).labels
    assert parsed_formula(latex) is parsed_formula(latex)


def test_what_is_shown_is_what_is_compared() -> None:
    latex = r"a &= b \\[7pt] c &= \qvar@construct{x}"
    assert mathml_of(latex) == parsed_formula(latex).parsed.mathml
