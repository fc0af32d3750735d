"""Hits that have the phrases, authors and no excluded words of a query. The index keeps no positions, so the best hits are read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from porism.analysis.words import WORD, stem
from porism.corpus.store.collection import Collection
from porism.deadline import check
from porism.search.reading.box import Box
from porism.search.retriever import Ranking
from porism.store.protocols import DocumentStore, StoredPost
from porism.text.segment import TAG, WORDS, Text

MAX_READ = 1000  # best hits that are read
FIRST_WORDS = 8  # of all phrases, without which a post is not read word by word
_MARKUP = f"(?:{TAG}[^\x1c-\x1f]*+|{WORDS})*+"  # tags inside a word, as in `n<sup>th</sup>`


class _Restriction(NamedTuple):
    """What a hit must have: one of the users as author, all phrases (as words), and no excluded word (as stems). `patterns` find the first words
    of the phrases."""

    users: tuple[str, ...]
    phrases: list[list[str]]
    patterns: list[re.Pattern[str]]
    excluded: list[list[str]]


def restrict(ranking: Ranking, box: Box, documents: DocumentStore, collection: Collection) -> Ranking:
    """Return those of the best MAX_READ hits that a query's phrases, excluded words and authors allow."""
    ids = ranking.ids[:MAX_READ]
    restriction = _restriction(box)
    kept = np.array([_is_allowed(post, restriction, collection) for post in documents.posts(ids.tolist())], np.bool_)
    return Ranking(ids[kept], ranking.scores[:MAX_READ][kept])


def _restriction(box: Box) -> _Restriction:
    phrases = [WORD.findall(phrase) for phrase in box.phrases]
    first_words = list(dict.fromkeys(chain.from_iterable(phrases)))[:FIRST_WORDS]
    excluded = [[stem(part) for part in WORD.findall(word)] for word in box.excluded]
    return _Restriction(box.users, phrases, [_written(word) for word in first_words], excluded)


def _is_allowed(stored: StoredPost, restriction: _Restriction, collection: Collection) -> bool:
    """Return whether a post passes. Title and body count, the title of an answer's question as well."""
    check()
    if restriction.users and not _is_by(stored, restriction.users, collection):
        return False
    title, body = stored.question.title, stored.post.body
    if restriction.patterns and not _has_words(title, body, restriction.patterns):
        return False
    words = WORD.findall(f"{title.plain()} {body.plain()}".lower())
    text = f" {' '.join(words)} "
    if any(f" {' '.join(phrase)} " not in text for phrase in restriction.phrases):
        return False
    stems = set(map(stem, words)) if restriction.excluded else set()
    return not any(stems.issuperset(parts) for parts in restriction.excluded)


def _written(word: str) -> re.Pattern[str]:
    """Return a pattern that finds the letters of a word in stored text, with tags between them or not."""
    return re.compile(_MARKUP.join(map(re.escape, word)))


def _has_words(title: Text, body: Text, patterns: Sequence[re.Pattern[str]]) -> bool:
    """Return whether the first words of the phrases occur at all. Only then is a post read word by word."""
    text = f"{title.stored}{body.stored}".lower()
    return all(pattern.search(text) for pattern in patterns)


def _is_by(stored: StoredPost, users: tuple[str, ...], collection: Collection) -> bool:
    """Return whether one of these users, by name or number, wrote the post."""
    owner = stored.post.owner_id
    author = collection.user(owner)
    name = author.name.casefold() if author is not None else ""
    return any(user == str(owner) or (name and user.casefold() == name) for user in users)
