"""How assessors see a candidate: the same on our own pages and in Turkle."""

from __future__ import annotations

from porism.lab.judging.assignments import Card
from porism.lab.judging.content import Content, written_blocks


def answer_blocks(content: Content, card: Card, text: str) -> list[str]:
    """Return the answer of Task 1 or 3 as blocks of HTML. A post and a written answer look the same."""
    if card.post_id:
        return content.blocks(content.collection.post(card.post_id).body)
    return written_blocks(text, content.math)


def formula_html(content: Content, card: Card) -> str:
    """Return a post of Task 2 with its formula highlighted; a question comes with its title."""
    post = content.collection.post(card.post_id or 0)
    formula = str(card.formula_id or 0)
    title = f"<h4>{content.render(post.title, formula)}</h4>" if post.title else ""
    return title + content.render(post.body, formula)
