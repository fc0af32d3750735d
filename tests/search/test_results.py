from __future__ import annotations

from porism.formula import parse
from porism.records import Binding
from porism.search.display.results import (
    DistinctFormula,
    Extract,
    FormulaResults,
    HighlightedSegment,
    Results,
    SearchHit,
    segments_html,
)

PIECES = (
    HighlightedSegment("text", "a <b> & "),
    HighlightedSegment("text", "word", highlighted=True),
    HighlightedSegment("formula", "x^2", highlighted_nodes=(2,)),
)


def test_text_is_escaped_and_matches_are_highlighted() -> None:
    expected = 'a &lt;b&gt; &amp; <mark>word</mark><math><msup><mi class="highlight">x</mi><mn>2</mn></msup></math>'
    assert segments_html(PIECES) == expected


def test_notebooks_show_results() -> None:
    hit = SearchHit(7, 1.0, "answer", 3, PIECES, PIECES)
    assert "<small>answer 7</small>" in Results((hit,), 1, 0.002)._repr_html_()
    found = DistinctFormula(5, 1.0, "x^2", parse("x^2").mathml, highlighted_nodes=(2,), bindings=(Binding("a", "x"),))
    page = FormulaResults((found,), 1, 0.002)._repr_html_()
    assert '<mi class="highlight">x</mi>' in page
    assert "a to x" in page
    assert "<mark>word</mark>" in Extract("a word", PIECES, (), 0.001)._repr_html_()
