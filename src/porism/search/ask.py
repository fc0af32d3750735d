"""Answers to questions: the best passage of the best posts, at most 1,200 characters, with whole formulas."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from porism.search.display.results import Extract, Source
from porism.search.display.snippet import SnippetBuilder, plain_title
from porism.search.generation.answer_text import MAX_LENGTH, as_text
from porism.store.records import StoredPost

PASSAGE_LENGTH = 900  # characters of each
MAX_POSTS = 5  # of the ranking that are considered, and that a language model reads
MIN_LENGTH = 80  # after a shorter passage the next post is tried


class Asking(NamedTuple):
    """A question as searched: its best posts, the builder of its passages, notes, and when it began
    (time.perf_counter)."""

    posts: Sequence[StoredPost]
    builder: SnippetBuilder
    notes: tuple[str, ...]
    began: float


def best_passage(asking: Asking) -> Extract:
    """Return the best passage of the first post that has one of useful length, else of the last post considered."""
    best = Extract("", (), (), 0.0)
    notes = asking.notes
    for post, question, _ in asking.posts:
        segments = asking.builder.passage(post.body, MAX_LENGTH)
        text = as_text(segments)
        source = Source(post.id, post.thread_id, plain_title(question.title))
        best = Extract(text, segments, (source,), 0.0)
        if len(text) >= MIN_LENGTH:
            break
    if not best.sources:
        notes = (*notes, "no post matches this question")
    return Extract(best.text, best.segments, best.sources, time.perf_counter() - asking.began, notes=notes)


def best_passages(asking: Asking) -> tuple[Source, ...]:
    """Return the best posts, each with its best passage, for a language model to read and to cite."""
    found = []
    for post, question, _ in asking.posts:
        passage = asking.builder.passage(post.body, PASSAGE_LENGTH)
        if passage:
            found.append(Source(post.id, post.thread_id, plain_title(question.title), passage))
    return tuple(found)
