"""Posts and formulas as records for other programs: JSON lines, Parquet, TREC text, stand-off annotations."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

from porism.corpus.content import Content, batched
from porism.corpus.post import Comment, Formula, Post
from porism.errors import PorismError
from porism.text.render import prose
from porism.text.segment import Text

BATCH = 1000  # posts that are read together
GROUP = 20_000  # rows of Parquet that are written together
NUMBERS = frozenset((
    "id", "post_id", "thread_id", "comment_id", "visual_id", "old_visual_id", "owner_id", "parent_id", "accepted_id",
    "score", "views",
))  # fmt: skip


def record(item: Post | Comment) -> dict[str, Any]:
    """Return a post or a comment as JSON values."""
    values = {field.name: getattr(item, field.name) for field in fields(item)}
    return {name: value.html() if isinstance(value, Text) else value for name, value in values.items()}


def write_json_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write objects, one a line."""
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def export_json_lines(content: Content, folder: Path) -> None:
    """Write posts with their comments and links, and formulas."""
    write_json_lines(folder / "posts.jsonl", _posts(content))
    write_json_lines(folder / "formulas.jsonl", map(asdict, content.formulas()))


def _posts(content: Content) -> Iterator[dict[str, Any]]:
    for posts in batched(content.posts(), BATCH):
        ids = [post.id for post in posts]
        comments, links = content.comments_by_post(ids), content.links_by_post(ids)
        for post in posts:
            row = record(post)
            row["comments"] = [record(comment) for comment in comments.get(post.id, ())]
            row["links"] = [{"other_id": link.other_id, "kind": link.kind} for link in links.get(post.id, ())]
            yield row


def write_parquet(path: Path, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Write rows in groups; a column is of the type "int", "text" or "texts"."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise PorismError("Parquet needs pyarrow", fix="pip install 'porism[parquet]'") from None
    types = {"int": arrow.int64(), "text": arrow.string(), "texts": arrow.list_(arrow.string())}
    schema = arrow.schema([(name, types[kind]) for name, kind in columns.items()])
    path.parent.mkdir(exist_ok=True)
    with parquet.ParquetWriter(path, schema) as writer:
        for group in batched(rows, GROUP):
            arrays = [
                arrow.array(list(values), one.type)
                for values, one in zip(zip(*group, strict=True), schema, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def export_parquet(content: Content, folder: Path) -> None:
    """Write posts, comments and formulas, one file each."""
    posts, comments = map(record, content.posts()), map(record, content.all_comments())
    for name, kind, rows in (
        ("posts", Post, posts),
        ("comments", Comment, comments),
        ("formulas", Formula, map(asdict, content.formulas())),
    ):
        names = [field.name for field in fields(kind)]
        columns = {one: "int" if one in NUMBERS else "texts" if one == "tags" else "text" for one in names}
        write_parquet(folder / f"{name}.parquet", columns, (tuple(row.values()) for row in rows))


def export_trec(content: Content, folder: Path) -> None:
    """Write a DOC for each post, with formulas as LaTeX between dollar signs."""
    with open(folder / "posts.trec", "w", encoding="utf-8") as out:
        for post in content.posts():
            out.write(f"<DOC>\n<DOCNO>{post.id}</DOCNO>\n<KIND>{post.kind}</KIND>\n")
            if post.title:
                out.write(f"<TITLE>{_escaped(post.title)}</TITLE>\n")
            if post.tags:
                out.write(f"<TAGS>{html.escape(' '.join(post.tags), quote=False)}</TAGS>\n")
            out.write(f"<TEXT>\n{_escaped(post.body)}\n</TEXT>\n</DOC>\n")


def _escaped(text: Text) -> str:
    return html.escape(text.plain(), quote=False).strip()


COLUMNS = ("formula_id", "post_id", "comment_id", "field", "start", "end")  # of formulas.tsv


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


def export_annotations(content: Content, folder: Path) -> None:
    """Write texts.jsonl, which holds each field as plain text, and formulas.tsv, the positions of its formulas."""
    with open(folder / "formulas.tsv", "w", encoding="utf-8") as table:
        table.write("\t".join(COLUMNS) + "\n")

        def rows() -> Iterator[dict[str, object]]:
            for post, comment, field, text in texts(content):
                annotated = annotate(text)
                yield {"post_id": post, "comment_id": comment, "field": field, "text": annotated.text}
                for one in annotated.formulas:
                    place = f"{post}\t{'' if comment is None else comment}\t{field}"
                    table.write(f"{one.formula_id}\t{place}\t{one.start}\t{one.end}\n")

        write_json_lines(folder / "texts.jsonl", rows())
