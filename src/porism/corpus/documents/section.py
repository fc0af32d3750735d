"""What every reader of documents gives."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from porism.corpus.html import fill


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document under one heading: HTML in which every formula is `<span class="math-container">LaTeX</span>`."""

    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document: its title, what it is filed under, and its sections in order."""

    title: str
    tags: tuple[str, ...]
    sections: Sequence[Section]


def with_spans(text: str, latex: Sequence[str]) -> str:
    """Put formulas in place of tokens, without ids: the build numbers them."""
    return fill(
        text,
        lambda n: f'<span class="math-container">{html.escape(latex[n], quote=False)}</span>' if n < len(latex) else "",
    )
