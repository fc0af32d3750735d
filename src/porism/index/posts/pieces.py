"""The text of a thread in pieces: title, body, tags, comments, titles of linked questions and answers, each with its terms and formulas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from porism.corpus.post import Comment, Thread
from porism.index.analysis.terms import stem_terms
from porism.index.analysis.words import FORMULA, WORD, stems_of
from porism.text.render import ends_line
from porism.text.segment import STORED, TAG, WORDS, Segment, Text, stored_formula

# A comment that points to another question, by its address or as its duplicate.
_FORMULA_MARK = f" {FORMULA} "
POINTER = re.compile(r"duplicate|questions/\d+", re.IGNORECASE)


def text_and_formulas(text: Text) -> tuple[str, list[Segment]]:
    """Return the text of a field, in which the mark FORMULA replaces each formula, and the formulas."""
    words: list[str] = []
    formulas: list[Segment] = []
    for mark, content in STORED.findall(text.stored):  # as `prose` reads it, without a segment for every piece of text
        if mark == WORDS:
            words.append(content)
        elif mark != TAG:
            formulas.append(stored_formula(mark, content))
            words.append(_FORMULA_MARK)
        elif ends_line(content):
            words.append("\n")
    return "".join(words), formulas


def tag_text(tags: tuple[str, ...]) -> str:
    """Return tags as words: `real-analysis` is two."""
    return f" {FORMULA} ".join(tag.replace("-", " ") for tag in tags)


class Piece(NamedTuple):
    """A piece of text: the text, its words, their stems, its terms in each family, and its formulas."""

    text: str
    words: list[str]
    stems: list[str]
    terms: dict[str, list[str]]
    formulas: list[Segment]


def make_piece(text: str, formulas: list[Segment]) -> Piece:
    """Analyse a text whose formulas are replaced by the mark FORMULA."""
    words = WORD.findall(text)
    stems = stems_of(words)
    return Piece(text, words, stems, stem_terms(stems), formulas)


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
