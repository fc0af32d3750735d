"""Formulas that only older versions of a post have: the lab's extraction listed them, but the collection's text lacks them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Literal, NamedTuple

from porism.corpus.build.work import rows
from porism.text.codeblocks import code_blocks
from porism.text.entities import decode_entities
from porism.text.find import find_formulas
from porism.text.lab import lab_formulas
from porism.text.sanitize import without_placeholders


class Revision(NamedTuple):
    """An older version of a title or a body."""

    field: Literal["title", "body"]
    text: str


class RemovedFormula(NamedTuple):
    """A formula of an older version, and the field it was in."""

    latex: str
    field: Literal["title", "body"]


def removed_formulas(
    work: sqlite3.Connection, source: int, post: int, present: set[str], compat: bool
) -> Iterator[RemovedFormula]:
    """Yield each formula of older versions of a post that is not among those `present`, once."""
    seen = set(present)
    query = "SELECT field, text FROM revisions WHERE source = ? AND post_id = ? ORDER BY seq"
    for revision in rows(work, Revision, query, source, post):
        for latex in _formulas(without_placeholders(revision.text), revision.field == "body", compat):
            if latex not in seen:
                seen.add(latex)
                yield RemovedFormula(latex, revision.field)


def _formulas(text: str, markdown: bool, compat: bool) -> tuple[str, ...]:
    """Bodies are kept as their authors typed them, in Markdown; the lab ignored that they may hold code."""
    if compat:
        return lab_formulas(text).latex
    text = decode_entities(text)
    code = code_blocks(text) if markdown else ()
    return find_formulas(text, "text", code=code).latex
