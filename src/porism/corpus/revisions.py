"""Formulas that only older versions of a post had: the lab's extraction met them, the collection's text does not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from porism.corpus.extract import lab, sensible
from porism.corpus.html import unescape, without_tokens


def removed_formulas(
    work: sqlite3.Connection, source: int, post: int, present: set[str], compat: bool
) -> Iterator[tuple[str, bool]]:
    """The LaTeX of each such formula once, and whether it stood in a title."""
    seen = set(present)
    query = "SELECT field, text FROM revisions WHERE source = ? AND post_id = ? ORDER BY seq"
    for field, text in work.execute(query, (source, post)).fetchall():
        clean = without_tokens(text)
        for latex in (lab(clean) if compat else sensible(unescape(clean), "text")).latex:
            if latex not in seen:
                seen.add(latex)
                yield latex, field == "title"
