"""Answers as text of at most 1,200 characters: LaTeX between dollar signs, cut after a sentence, never inside a formula."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from porism.search.display.sentences import split_sentences
from porism.search.reading.parts import split_query
from porism.text.segment import Segment

MAX_LENGTH = 1200  # characters, by the rules of the lab
Sentence = Sequence[Segment]


class Piece(Protocol):
    """A piece of text, or a formula."""

    @property
    def kind(self) -> str:
        """`formula`, or another word for text."""

    @property
    def text(self) -> str:
        """The text, or the LaTeX without dollar signs."""


def as_text(pieces: Iterable[Piece]) -> str:
    """Return text with LaTeX between dollar signs, whose number is even by the lab's way of counting.

    The lab counts a dollar sign unless a backslash is before it, and reads one character together with it. So dollar signs in text become full-width ones,
    neighbouring formulas are apart by a blank, and a blank follows a backslash before a dollar sign.
    """
    out = ""
    for piece in pieces:
        if piece.kind != "formula":
            out += piece.text.replace("$", "\uff04")
            continue
        latex = " ".join(piece.text.replace("$", "").split())
        if latex:
            gap = " " if out.endswith(("$", "\\")) else ""
            out += f"{gap}${latex}{' ' if latex.endswith(chr(92)) else ''}$"
    return " ".join(out.split())


def sentences_of(text: str) -> list[list[Segment]]:
    """Split a written answer, with formulas between delimiters, into sentences."""
    parts = split_query(text, typed=False)
    return split_sentences(Segment(part.kind, part.latex or part.source) for part in parts)


def join(sentences: Iterable[Sentence]) -> str:
    """Return sentences as one text."""
    return as_text(piece for sentence in sentences for piece in sentence)


def fit(sentences: Sequence[Sentence], limit: int = MAX_LENGTH) -> list[list[Segment]]:
    """Return the first sentences that fit into the limit. If the first one alone does not, it is cut between words or formulas."""
    kept: list[list[Segment]] = []
    for sentence in sentences:
        if len(join([*kept, sentence])) > limit:
            break
        kept.append(list(sentence))
    return kept if kept or not sentences else [_beginning(sentences[0], limit)]


def fitting_text(text: str, limit: int = MAX_LENGTH) -> str:
    """Return the beginning of a written answer that fits into the limit, cut after a sentence."""
    return join(fit(sentences_of(text), limit))


def _beginning(sentence: Sentence, limit: int) -> list[Segment]:
    """Return the beginning of a sentence that fits: whole formulas, and whole words where there is a blank."""
    kept: list[Segment] = []
    for piece in sentence:
        if len(as_text([*kept, piece])) <= limit:
            kept.append(piece)
            continue
        if piece.kind != "formula":
            shorter = piece.text[: max(limit - len(as_text(kept)) - 1, 0)]
            kept.append(Segment("text", shorter.rpartition(" ")[0] or shorter))
        break
    return kept
