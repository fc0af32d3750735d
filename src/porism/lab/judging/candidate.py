"""How assessors see a candidate: the same on our own pages and in Turkle. `posts` are those that were read together; another one is read."""

from __future__ import annotations

from collections.abc import Mapping

from porism.corpus.post import Post
from porism.lab.judging.assignments import Card
from porism.lab.judging.content import Content, written_blocks


def answer_blocks(content: Content, card: Card, text: str, posts: Mapping[int, Post] | None = None) -> list[str]:
    """Return the answer of Task 1 or 3 as blocks of HTML. A post and a written answer look the same."""
    if card.post_id:
        return content.blocks(_post(content, card.post_id, posts).body)
    return written_blocks(text, content.math)


def formula_html(content: Content, card: Card, posts: Mapping[int, Post] | None = None) -> str:
    """Return a post of Task 2 with its formula highlighted; a question comes with its title."""
    post = _post(content, card.post_id or 0, posts)
    formula = str(card.formula_id or 0)
    title = f"<h4>{content.render(post.title, formula)}</h4>" if post.title else ""
    return title + content.render(post.body, formula)


def _post(content: Content, number: int, posts: Mapping[int, Post] | None) -> Post:
    return (content.collection.posts_by_id([number]) if posts is None else posts)[number]
