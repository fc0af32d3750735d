"""Answers to questions: the best passage of the best posts, at most 1,200 characters, with whole formulas."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from porism.records import Hit
from porism.search.display.results import Extract, Source
from porism.search.display.snippet import SnippetBuilder, plain_title
from porism.search.generation.answer_text import MAX_LENGTH, as_text
from porism.store.protocols import DocumentStore

PASSAGES = 5  # that a language model reads
PASSAGE_LENGTH = 900  # characters of each
MAX_POSTS = 5  # of the ranking that are considered
MIN_LENGTH = 80  # after a shorter passage the next post is tried


class Asking(NamedTuple):
    """A question as searched: its hits, the builder of its passages, notes, and when it began (time.perf_counter)."""

    hits: Sequence[Hit]
    builder: SnippetBuilder
    notes: tuple[str, ...]
    began: float


def best_passage(documents: DocumentStore, asking: Asking) -> Extract:
    """Return the best passage of the first post that has one of useful length, else of the last post considered."""
    best = Extract("", (), (), 0.0)
    notes = asking.notes
    for hit in asking.hits[:MAX_POSTS]:
        post, question, _ = documents.posts([hit.id])[0]
        segments = asking.builder.passage(post.body, MAX_LENGTH)
        text = as_text(segments)
        source = Source(post.id, post.thread_id, plain_title(question.title))
        best = Extract(text, segments, (source,), 0.0)
        if len(text) >= MIN_LENGTH:
            break
    if not best.sources:
        notes = (*notes, "no post matches this question")
    return Extract(best.text, best.segments, best.sources, time.perf_counter() - asking.began, notes=notes)


def best_passages(documents: DocumentStore, asking: Asking) -> tuple[Source, ...]:
    """Return the best posts, each with its best passage, for a language model to read and to cite."""
    found = []
    for hit in asking.hits[:PASSAGES]:
        post, question, _ = documents.posts([hit.id])[0]
        passage = asking.builder.passage(post.body, PASSAGE_LENGTH)
        if passage:
            found.append(Source(post.id, post.thread_id, plain_title(question.title), passage))
    return tuple(found)
