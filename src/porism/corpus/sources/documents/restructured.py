"""reStructuredText: docutils reads it, the `math` role and directive become formulas."""

from __future__ import annotations

from porism.corpus.sources.documents.page import read_page
from porism.corpus.sources.documents.section import Document
from porism.limits import limit


def read_rst(text: str) -> Document:
    """Split a text in reStructuredText into sections at headings of the first three levels. Raise ValueError if it is too long."""
    from porism.corpus.sources.documents.rst_html import rst_to_html  # docutils takes long to import

    if len(text) > limit("rst_characters"):
        raise ValueError(f"more than {limit('rst_characters'):,} characters of reStructuredText")
    return read_page(rst_to_html(text))
