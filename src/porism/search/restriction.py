"""Hits that have the phrases, authors and no excluded words of a query. The index keeps no positions, so the best hits are read."""

from __future__ import annotations

import numpy as np

from porism.corpus.store.collection import Collection
from porism.index.analysis.words import WORD, stem
from porism.index.protocols import DocumentStore, StoredPost
from porism.search.reading.box import Box
from porism.search.retriever import Ranking

MAX_READ = 1000  # best hits that are read


def restrict(ranking: Ranking, box: Box, documents: DocumentStore, collection: Collection) -> Ranking:
    """Return those of the best MAX_READ hits that a query's phrases, excluded words and authors allow."""
    ids = ranking.ids[:MAX_READ]
    allowed = [_is_allowed(post, box, collection) for post in documents.posts(ids.tolist())]
    kept = np.array(allowed, np.bool_)
    return Ranking(ids[kept], ranking.scores[:MAX_READ][kept])


def _is_allowed(stored: StoredPost, box: Box, collection: Collection) -> bool:
    """Return whether a post passes. Title and body count, the title of an answer's question as well."""
    if box.users and not _is_by(stored, box.users, collection):
        return False
    words = WORD.findall(f"{stored.question.title.plain()} {stored.post.body.plain()}".lower())
    text = f" {' '.join(words)} "
    if any(f" {' '.join(WORD.findall(phrase))} " not in text for phrase in box.phrases):
        return False
    stems = {stem(word) for word in words} if box.excluded else set()
    return not any(all(stem(part) in stems for part in WORD.findall(word)) for word in box.excluded)


def _is_by(stored: StoredPost, users: tuple[str, ...], collection: Collection) -> bool:
    """Return whether one of these users, by name or number, wrote the post."""
    owner = stored.post.owner_id
    author = collection.user(owner)
    name = author.name.casefold() if author is not None else ""
    return any(user == str(owner) or (name and user.casefold() == name) for user in users)
