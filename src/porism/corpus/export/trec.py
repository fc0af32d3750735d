"""TREC text: a DOC for each post, with formulas as LaTeX between dollar signs."""

from __future__ import annotations

import html
from pathlib import Path

from porism.corpus.content import Content
from porism.text.segment import Text


def export(content: Content, folder: Path) -> None:
    """Write posts.trec."""
    with open(folder / "posts.trec", "w", encoding="utf-8") as out:
        for post in content.posts():
            out.write(f"<DOC>\n<DOCNO>{post.id}</DOCNO>\n<KIND>{post.kind}</KIND>\n")
            if post.title:
                out.write(f"<TITLE>{_text(post.title)}</TITLE>\n")
            if post.tags:
                out.write(f"<TAGS>{html.escape(' '.join(post.tags), quote=False)}</TAGS>\n")
            out.write(f"<TEXT>\n{_text(post.body)}\n</TEXT>\n</DOC>\n")


def _text(text: Text) -> str:
    return html.escape(text.plain(), quote=False).strip()
