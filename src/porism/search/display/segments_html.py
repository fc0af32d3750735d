"""Highlighted segments as safe HTML, for pages and notebooks."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from porism.formula import parse
from porism.formula.mathml.presentation import highlight
from porism.text.page import flow

if TYPE_CHECKING:
    from porism.search.display.results import HighlightedSegment


def segments_html(
    pieces: Iterable[HighlightedSegment], formula: Callable[[str, str], str] = lambda latex, mathml: mathml
) -> str:
    """Return segments as safe HTML: matching words are marked, matching parts of formulas are highlighted.

    `formula(latex, mathml)` may wrap each formula."""
    return flow(
        (_formula(piece, formula), True) if piece.kind == "formula" else (_text(piece.text, piece.highlighted), False)
        for piece in pieces
    )


def _text(text: str, highlighted: bool) -> str:
    return f"<mark>{html.escape(text)}</mark>" if highlighted else html.escape(text)


def _formula(piece: HighlightedSegment, formula: Callable[[str, str], str]) -> str:
    mathml = piece.mathml or parse(piece.text).mathml
    return formula(piece.text, highlight(mathml, piece.highlighted_nodes) if piece.highlighted_nodes else mathml)
