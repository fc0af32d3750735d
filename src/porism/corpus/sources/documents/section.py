"""What every reader of documents gives."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from porism.text.extract import Extracted
from porism.text.html import fill


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document under one heading: HTML in which every formula is a span of class math-container, without id."""

    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document: its title, what it is filed under, and its sections in order."""

    title: str
    tags: tuple[str, ...]
    sections: Sequence[Section]


def with_spans(text: str, found: Extracted, latex: Sequence[str] = ()) -> str:
    """Put formulas in place of tokens, without ids: the build numbers them. `latex` stands instead of what was found, if given."""
    formulas = latex or found.latex

    def put(number: int) -> str:
        sign = "$$" if number in found.displayed else "$"
        return (
            f'<span class="math-container">{sign}{html.escape(formulas[number], quote=False)}{sign}</span>'
            if number < len(formulas)
            else ""
        )

    return fill(text, put)
