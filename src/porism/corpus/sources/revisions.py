"""Formulas that only older versions of a post had: the lab's extraction met them, the collection's text does not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from porism.text.codeblocks import code_blocks
from porism.text.extract import lab, sensible
from porism.text.html import unescape, without_tokens


def removed_formulas(
    work: sqlite3.Connection, source: int, post: int, present: set[str], compat: bool
) -> Iterator[tuple[str, bool]]:
    """The LaTeX of each such formula once, and whether it stood in a title."""
    seen = set(present)
    query = "SELECT field, text FROM revisions WHERE source = ? AND post_id = ? ORDER BY seq"
    for field, text in work.execute(query, (source, post)).fetchall():
        for latex in _formulas(without_tokens(text), field == "body", compat):
            if latex not in seen:
                seen.add(latex)
                yield latex, field == "title"


def _formulas(text: str, markdown: bool, compat: bool) -> tuple[str, ...]:
    """Bodies are kept as the author typed them, in Markdown; the lab did not know code in them."""
    if compat:
        return lab(text).latex
    text = unescape(text)
    code = code_blocks(text) if markdown else ()
    return sensible(text, "text", code=code).latex
