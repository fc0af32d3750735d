"""The texts of posts as models read them, kept while a model is measured or used as a re-ranker."""

from __future__ import annotations

from porism.caching import cached_method
from porism.corpus.store.collection import Collection
from porism.store.embedded.encoded.texts import model_text, question_text

KEPT = 20_000  # texts


class PostTexts:
    """Texts of the posts of a collection."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self.post = cached_method(KEPT, self._post)

    def _post(self, number: int) -> str:
        """Return a question with its title, or an answer."""
        post = self._collection.post(number)
        return question_text(post.title, post.body) if post.kind == "question" else model_text(post.body)

    def question_of(self, number: int) -> str:
        """Return the question of the thread of a post."""
        return self.post(self.thread_of(number))

    def thread_of(self, number: int) -> int:
        """Return the id of the question of the thread of a post."""
        return self._collection.post(number).thread_id
