"""Parquet: posts, comments and formulas, one file each, written in row groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from porism.corpus.content import Content, batched
from porism.corpus.export.records import record
from porism.corpus.post import Comment, Formula, Post
from porism.errors import PorismError

GROUP = 20_000


def export(content: Content, folder: Path) -> None:
    """Write the three files."""
    try:
        import pyarrow as arrow
    except ImportError:
        raise PorismError("Parquet needs pyarrow", fix="pip install 'porism[parquet]'") from None
    number, text = arrow.int64(), arrow.string()
    places = {
        "id": number,
        "post_id": number,
        "thread_id": number,
        "comment_id": number,
        "visual_id": number,
        "old_visual_id": number,
    }
    people = {"owner_id": number, "parent_id": number, "accepted_id": number, "score": number, "views": number}
    words = dict.fromkeys(("kind", "body", "title", "created", "closed", "source", "latex", "issue"), text)
    types = {**places, **people, **words, "tags": arrow.list_(text)}
    streams: dict[str, Iterable[Any]] = {
        "posts": content.posts(),
        "comments": content.all_comments(),
        "formulas": content.formulas(),
    }
    for name, records in streams.items():
        _write(folder / f"{name}.parquet", name, records, types)


def _write(path: Path, name: str, records: Iterable[Any], types: dict[str, Any]) -> None:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    columns = {"posts": fields(Post), "comments": fields(Comment), "formulas": fields(Formula)}[name]
    schema = arrow.schema([(column.name, types[column.name]) for column in columns])
    with parquet.ParquetWriter(path, schema) as writer:
        for rows in batched(records, GROUP):
            group = [asdict(row) if isinstance(row, Formula) else record(row) for row in rows]
            writer.write_table(arrow.Table.from_pylist(group, schema=schema))
