"""Posts with the phrases and authors, without the excluded words of a query, found by reading them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from porism.corpus.content import Content
from porism.corpus.post import Post
from porism.deadline import check
from porism.store.records import StoredPost, TextQuery
from porism.text.segment import TAG, WORDS, Text
from porism.text.words import WORD, stem

FIRST_WORDS = 8  # of all phrases, without which a post is not read word by word
_MARKUP = f"(?:{TAG}[^\x1c-\x1f]*+|{WORDS})*+"  # tags inside a word, as in `n<sup>th</sup>`


class TextMatcher:
    """Decides whether posts match a `TextQuery`."""

    def __init__(self, query: TextQuery) -> None:
        self._authors = query.authors
        self._phrases = [WORD.findall(phrase) for phrase in query.phrases]
        first_words = list(dict.fromkeys(chain.from_iterable(self._phrases)))[:FIRST_WORDS]
        self._patterns = [_written(word) for word in first_words]
        self._excluded = [[stem(part) for part in WORD.findall(word)] for word in query.excluded]

    def matching(self, stored: Sequence[StoredPost], content: Content) -> list[bool]:
        """Return which posts match."""
        if self._authors:
            owners = [one.post.owner_id for one in stored if one.post.owner_id is not None]
            names = {number: user.name.casefold() for number, user in content.users_by_id(owners).items()}
        return [(not self._authors or self._is_by(one.post, names)) and self._has_text(one) for one in stored]

    def _is_by(self, post: Post, names: dict[int, str]) -> bool:
        """Return whether one of the authors, by name or number, wrote the post."""
        name = "" if post.owner_id is None else names.get(post.owner_id, "")
        return any(one == str(post.owner_id) or (name and one.casefold() == name) for one in self._authors)

    def _has_text(self, stored: StoredPost) -> bool:
        """Return whether title and body have all phrases and no excluded word."""
        check()
        title, body = stored.question.title, stored.post.body
        if self._patterns and not _has_words(title, body, self._patterns):
            return False
        words = WORD.findall(f"{title.plain()} {body.plain()}".lower())
        text = f" {' '.join(words)} "
        if any(f" {' '.join(phrase)} " not in text for phrase in self._phrases):
            return False
        stems = set(map(stem, words)) if self._excluded else set()
        return not any(stems.issuperset(parts) for parts in self._excluded)


def _written(word: str) -> re.Pattern[str]:
    """Return a pattern that finds the letters of a word in stored text, with tags between them or not."""
    return re.compile(_MARKUP.join(map(re.escape, word)))


def _has_words(title: Text, body: Text, patterns: Sequence[re.Pattern[str]]) -> bool:
    """Return whether the first words of the phrases occur at all. Only then is a post read word by word."""
    text = f"{title.stored}{body.stored}".lower()
    return all(pattern.search(text) for pattern in patterns)
