"""Answers as text of at most 1,200 characters, cut after a sentence, never inside a formula, with their citations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from porism.search.display.results import AnswerSentence, HighlightedSegment
from porism.search.display.sentences import split_sentences
from porism.text.segment import Segment
from porism.text.typed.parts import split_query

MAX_LENGTH = 1200  # characters, by the rules of the lab
Sentence = Sequence[Segment]


class TextPiece(Protocol):
    """A piece of text, or a formula."""

    @property
    def kind(self) -> str:
        """`formula`, or another word for text."""

    @property
    def text(self) -> str:
        """The text, or the LaTeX without dollar signs."""


def as_text(pieces: Iterable[TextPiece]) -> str:
    """Return text with LaTeX between dollar signs, whose number is even by the lab's way of counting.

    The lab counts a dollar sign unless a backslash is before it, and reads one character together with it. So dollar
    signs in text become full-width ones, neighbouring formulas are apart by a blank, and a blank follows a backslash
    before a dollar sign."""
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
    """Return the first sentences that fit. A first one that does not is cut between words or formulas."""
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


_MARK = r"\[\s*\d{1,3}(?:\s*[,;]\s*\d{1,3})*\s*\]"
CITATION = re.compile(rf"(?<!\s)\s*+({_MARK})")
AFTER_STOP = re.compile(rf"([.?!])((?:\s*{_MARK})+)")  # "It is so. [1]" becomes "It is so [1]."
NUMBER = re.compile(r"\d+")
THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)  # what some models write before their answer


@dataclass(frozen=True, slots=True)
class CitedText:
    """A written answer as sentences with their citations. `cut` says that it was too long and lost sentences."""

    sentences: tuple[AnswerSentence, ...]
    cut: bool

    @property
    def text(self) -> str:
        """The answer with its citations, LaTeX between dollar signs."""
        return " ".join(sentence_text(sentence) for sentence in self.sentences)


def sentence_text(sentence: AnswerSentence) -> str:
    """Return a sentence with its citations at the end."""
    marks = "".join(f" [{number}]" for number in sentence.cited)
    return f"{as_text(sentence.segments)}{marks}"


def cited_text(text: str, passages: int, whole: bool = True) -> CitedText:
    """Split an answer into sentences with their citations; `passages` is the number of passages that it may cite.

    An answer that is not `whole` is still being written, so its last sentence is left out."""
    moved = AFTER_STOP.sub(r"\2\1", THOUGHTS.sub(" ", text).strip())
    every = sentences_of(moved)
    kept = fit(every)
    cut = len(kept) < len(every) or kept != every[: len(kept)]
    shown = kept if whole or cut else kept[:-1]
    return CitedText(tuple(_sentence(sentence, passages) for sentence in shown), cut)


def has_open_formula(text: str) -> bool:
    """Return whether a text that is still being written ends inside a formula."""
    return text.count("$") % 2 == 1 or text.count("\\[") > text.count("\\]") or text.count("\\(") > text.count("\\)")


def _sentence(pieces: Sequence[Segment], passages: int) -> AnswerSentence:
    marks = [mark for piece in pieces if not piece.is_formula for mark in CITATION.findall(piece.text)]
    numbers = list(dict.fromkeys(int(number) for mark in marks for number in NUMBER.findall(mark)))
    cited = tuple(number for number in numbers if 1 <= number <= passages)
    return AnswerSentence(tuple(_without_marks(pieces)), cited, tuple(set(numbers) - set(cited)))


def _without_marks(pieces: Iterable[Segment]) -> Iterable[HighlightedSegment]:
    for piece in pieces:
        text = piece.text if piece.is_formula else CITATION.sub("", piece.text)
        if text:
            yield HighlightedSegment("formula" if piece.is_formula else "text", text)
