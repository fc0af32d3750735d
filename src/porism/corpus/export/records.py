"""Posts and formulas as records for other programs: JSON lines, Parquet, TREC text, stand-off annotations."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from porism.corpus.content import Content, batched
from porism.corpus.post import Comment, Post
from porism.text.segment import Text

BATCH = 1000  # posts that are read together


def record(item: Post | Comment) -> dict[str, Any]:
    """Return a post or a comment as JSON values."""
    names = [field.name for field in fields(item)]
    values = {name: getattr(item, name) for name in names}
    return {name: value.html() if isinstance(value, Text) else value for name, value in values.items()}


def export(content: Content, folder: Path) -> None:
    """Write both files."""
    with open(folder / "posts.jsonl", "w", encoding="utf-8") as out:
        for posts in batched(content.posts(), BATCH):
            ids = [post.id for post in posts]
            comments, links = content.comments_by_post(ids), content.links_by_post(ids)
            for post in posts:
                row = record(post)
                row["comments"] = [record(comment) for comment in comments.get(post.id, ())]
                row["links"] = [{"other_id": link.other_id, "kind": link.kind} for link in links.get(post.id, ())]
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
    with open(folder / "formulas.jsonl", "w", encoding="utf-8") as out:
        for formula in content.formulas():
            out.write(json.dumps(asdict(formula), ensure_ascii=False) + "\n")
