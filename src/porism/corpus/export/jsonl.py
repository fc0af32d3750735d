"""JSON lines: posts.jsonl with comments and links inside, formulas.jsonl."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from porism.corpus.store.collection import Collection


def export(collection: Collection, folder: Path) -> None:
    """Write both files."""
    with open(folder / "posts.jsonl", "w", encoding="utf-8") as out:
        for post in collection.posts():
            row = asdict(post)
            row["comments"] = [asdict(comment) for comment in collection.comments(post.id)]
            row["links"] = [{"other_id": link.other_id, "kind": link.kind} for link in collection.links(post.id)]
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    with open(folder / "formulas.jsonl", "w", encoding="utf-8") as out:
        for formula in collection.formulas():
            out.write(json.dumps(asdict(formula), ensure_ascii=False) + "\n")
