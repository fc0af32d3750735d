"""Formulas as stand-off annotations: texts.jsonl holds each field as plain text, formulas.tsv the positions of its formulas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from porism.corpus.content import Content, batched
from porism.text.render import prose
from porism.text.segment import Text

BATCH = 1000  # posts that are read together
COLUMNS = ("formula_id", "post_id", "comment_id", "field", "start", "end")


class FieldText(NamedTuple):
    """A field of a post, or a comment."""

    post_id: int
    comment_id: int | None
    field: str
    text: Text


def texts(content: Content) -> Iterator[FieldText]:
    """Yield all fields: title and body of each post, then its comments."""
    for posts in batched(content.posts(), BATCH):
        comments = content.comments_by_post([post.id for post in posts])
        for post in posts:
            if post.title:
                yield FieldText(post.id, None, "title", post.title)
            yield FieldText(post.id, None, "body", post.body)
            for comment in comments.get(post.id, ()):
                yield FieldText(post.id, comment.id, "comment", comment.body)


class Annotation(NamedTuple):
    """The characters of a text that are a formula."""

    formula_id: int
    start: int
    end: int


class Annotated(NamedTuple):
    """A plain text with formulas as bare LaTeX, and which of its characters they are."""

    text: str
    formulas: list[Annotation]


def annotate(text: Text) -> Annotated:
    """Write a field as plain text with stand-off annotations.

    >>> from porism.text.read import read_official
    >>> annotate(read_official('Let <span class="math-container" id="7">a&lt;b</span>.'))
    Annotated(text='Let a<b.', formulas=[Annotation(formula_id=7, start=4, end=7)])
    """
    pieces: list[str] = []
    found: list[Annotation] = []
    at = 0
    for segment in prose(text):
        if segment.is_formula:
            found.append(Annotation(segment.formula_id, at, at + len(segment.text)))
        pieces.append(segment.text)
        at += len(segment.text)
    return Annotated("".join(pieces), found)


def export(content: Content, folder: Path) -> None:
    """Write both files."""
    with (
        open(folder / "texts.jsonl", "w", encoding="utf-8") as out,
        open(folder / "formulas.tsv", "w", encoding="utf-8") as table,
    ):
        table.write("\t".join(COLUMNS) + "\n")
        for field in texts(content):
            annotated = annotate(field.text)
            row = {
                "post_id": field.post_id,
                "comment_id": field.comment_id,
                "field": field.field,
                "text": annotated.text,
            }
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            comment = "" if field.comment_id is None else field.comment_id
            for one in annotated.formulas:
                table.write(f"{one.formula_id}\t{field.post_id}\t{comment}\t{field.field}\t{one.start}\t{one.end}\n")
