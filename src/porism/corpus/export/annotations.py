"""Formulas as stand-off annotations: texts.jsonl holds each field as plain text, formulas.tsv says which characters are formulas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from porism.corpus.store.collection import Collection
from porism.text.html import segments

COLUMNS = ("formula_id", "post_id", "comment_id", "field", "start", "end")


class Text(NamedTuple):
    """A field of a post, or a comment."""

    post_id: int
    comment_id: int | None
    field: str
    html: str


def texts(collection: Collection) -> Iterator[Text]:
    """All fields: title and body of each post, then its comments."""
    for post in collection.posts():
        if post.title:
            yield Text(post.id, None, "title", post.title)
        yield Text(post.id, None, "body", post.body)
        for comment in collection.comments(post.id):
            yield Text(post.id, comment.id, "comment", comment.body)


def annotate(html: str) -> tuple[str, list[tuple[int, int, int]]]:
    """The text with formulas as bare LaTeX, and (formula id, start, end) in characters.

    >>> annotate('Let <span class="math-container" id="7">a&lt;b</span>.')
    ('Let a<b.', [(7, 4, 7)])
    """
    pieces: list[str] = []
    found: list[tuple[int, int, int]] = []
    at = 0
    for segment in segments(html):
        if segment.formula_id:
            found.append((segment.formula_id, at, at + len(segment.text)))
        pieces.append(segment.text)
        at += len(segment.text)
    return "".join(pieces), found


def export(collection: Collection, folder: Path) -> None:
    """Write both files."""
    with (
        open(folder / "texts.jsonl", "w", encoding="utf-8") as out,
        open(folder / "formulas.tsv", "w", encoding="utf-8") as table,
    ):
        table.write("\t".join(COLUMNS) + "\n")
        for text in texts(collection):
            plain, found = annotate(text.html)
            row = {"post_id": text.post_id, "comment_id": text.comment_id, "field": text.field, "text": plain}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            for number, start, end in found:
                comment = "" if text.comment_id is None else text.comment_id
                table.write(f"{number}\t{text.post_id}\t{comment}\t{text.field}\t{start}\t{end}\n")
