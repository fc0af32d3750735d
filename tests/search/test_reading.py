from __future__ import annotations

import pytest

from porism.formula import parse
from porism.index.analysis.flat import flat_layout
from porism.index.analysis.terms import latex_codes
from porism.search.display.reading import mathml_of, part_codes, reading

LATEX = (r"a^2+b^2=c^2", r"\frac{x+1}{\sqrt{y}}", r"\sum_{k=1}^n k = \frac{n(n+1)}{2}", "x", "", r"\frac{", "a<b<c")


@pytest.mark.parametrize("latex", LATEX)
def test_the_codes_of_parts_are_those_that_posts_are_indexed_by(latex: str) -> None:
    assert part_codes(latex) == {number for number, _ in dict(latex_codes(latex))["parts"]}


@pytest.mark.parametrize("latex", LATEX)
def test_a_reading_is_what_the_parser_says(latex: str) -> None:
    assert mathml_of(latex) == parse(latex).mathml
    assert reading(latex).flat.labels == flat_layout(parse(latex).layout).labels
    assert reading(latex) is reading(latex)
