"""The text of a thread in pieces: title, body, tags, comments, titles of linked questions and answers, each with its terms and formulas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from porism.corpus.post import Comment, Thread
from porism.index.analysis.terms import stem_terms
from porism.index.analysis.words import FORMULA, stems
from porism.text.render import prose
from porism.text.segment import Segment, Text

# A comment that points to another question, by its address or as its duplicate.
POINTER = re.compile(r"duplicate|questions/\d+", re.IGNORECASE)


def text_and_formulas(text: Text) -> tuple[str, list[Segment]]:
    """Return the text of a field, in which the mark FORMULA replaces each formula, and the formulas."""
    words: list[str] = []
    formulas: list[Segment] = []
    for segment in prose(text):
        if segment.is_formula:
            formulas.append(segment)
            words.append(f" {FORMULA} ")
        else:
            words.append(segment.text)
    return "".join(words), formulas


def tag_text(tags: tuple[str, ...]) -> str:
    """Return tags as words: `real-analysis` is two."""
    return f" {FORMULA} ".join(tag.replace("-", " ") for tag in tags)


class Piece(NamedTuple):
    """A piece of text: the text, its stems, its terms in each family, and its formulas."""

    text: str
    stems: list[str]
    terms: dict[str, list[str]]
    formulas: list[Segment]


def make_piece(text: str, formulas: list[Segment]) -> Piece:
    """Analyse a text whose formulas are replaced by the mark FORMULA."""
    text_stems = stems(text)
    return Piece(text, text_stems, stem_terms(text_stems), formulas)


class Pieces(NamedTuple):
    """The pieces of a thread. Comments are by post; answers in their order."""

    title: Piece
    body: Piece
    tags: Piece
    linked: list[Piece]
    answers: list[Piece]
    comments: dict[int, list[Piece]]


def split_thread(thread: Thread, linked_titles: Sequence[Text], links: bool) -> Pieces:
    """Split a thread into pieces. Without `links`, leave out comments that point to other questions."""
    question = thread.question
    comments: dict[int, list[Piece]] = {}
    for comment in thread.comments:
        if links or not _has_link(comment):
            comments.setdefault(comment.post_id, []).append(make_piece(*text_and_formulas(comment.body)))
    return Pieces(
        make_piece(*text_and_formulas(question.title)),
        make_piece(*text_and_formulas(question.body)),
        make_piece(tag_text(question.tags), []),
        [make_piece(*text_and_formulas(title)) for title in linked_titles],
        [make_piece(*text_and_formulas(answer.body)) for answer in thread.answers],
        comments,
    )


def _has_link(comment: Comment) -> bool:
    return POINTER.search(comment.body.stored) is not None
