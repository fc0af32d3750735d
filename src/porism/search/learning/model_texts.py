"""The texts of posts as models read them, kept while a model is measured or used as a re-ranker."""

from __future__ import annotations

from collections.abc import Sequence

from cachetools import LRUCache

from porism.analysis.pieces import model_text, question_text
from porism.corpus.content import Content

KEPT = 20_000  # texts


class PostTexts:
    """Texts of the posts of a collection."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._kept: LRUCache[int, str] = LRUCache(KEPT)

    def posts(self, ids: Sequence[int]) -> list[str]:
        """Return questions with their titles, and answers."""
        found = {number: self._kept[number] for number in ids if number in self._kept}
        for number, post in self._content.posts_by_id([one for one in ids if one not in found]).items():
            text = question_text(post.title, post.body) if post.kind == "question" else model_text(post.body)
            found[number] = self._kept[number] = text
        return [found[number] for number in ids]

    def questions_of(self, ids: Sequence[int]) -> list[str]:
        """Return the questions of the threads of posts."""
        posts = self._content.posts_by_id(ids)
        return self.posts([posts[number].thread_id for number in ids])
