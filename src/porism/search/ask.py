"""Answers to questions: the best passage of the best posts, at most 1,200 characters, with whole formulas."""

from __future__ import annotations

import time
from collections.abc import Sequence

from porism.index.protocols import DocumentStore
from porism.records import Hit
from porism.search.display.results import Extract, HighlightedSegment, Source
from porism.search.display.snippet import SnippetBuilder, plain_title

MAX_LENGTH = 1200  # characters, by the rules of the lab
MAX_POSTS = 5  # of the ranking that are considered
MIN_LENGTH = 80  # after a shorter passage the next post is tried


def best_passage(
    documents: DocumentStore, hits: Sequence[Hit], builder: SnippetBuilder, notes: tuple[str, ...], began: float
) -> Extract:
    """Return the best passage of the first post that has one of useful length, else of the last post considered."""
    best = Extract("", (), (), 0.0)
    for hit in hits[:MAX_POSTS]:
        post, question, _ = documents.posts([hit.id])[0]
        segments = builder.passage(post.body, MAX_LENGTH)
        text = as_text(segments)
        source = Source(post.id, post.thread_id, plain_title(question.title))
        best = Extract(text, segments, (source,), 0.0)
        if len(text) >= MIN_LENGTH:
            break
    if not best.sources:
        notes = (*notes, "no post matches this question")
    return Extract(best.text, best.segments, best.sources, time.perf_counter() - began, notes=notes)


def as_text(segments: Sequence[HighlightedSegment]) -> str:
    """Return segments as text with LaTeX between dollar signs.

    Dollar signs in text become full-width ones, so that the number of dollar signs is even.
    """
    pieces = [
        f"${one.text.replace('$', '').strip()}$" if one.kind == "formula" else one.text.replace("$", "\uff04")
        for one in segments
    ]
    return " ".join("".join(pieces).split())
