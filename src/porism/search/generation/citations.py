"""Citations in a written answer: [1] or [2, 3] after a sentence names the passages that support it.

The passages were numbered for the model. A number that none of them has is no citation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from porism.search.display.results import AnswerSentence, HighlightedSegment
from porism.search.generation.answer_text import as_text, fit, sentences_of
from porism.text.segment import Segment

_MARK = r"\[\s*\d{1,3}(?:\s*[,;]\s*\d{1,3})*\s*\]"
CITATION = re.compile(rf"(?<!\s)\s*+({_MARK})")
AFTER_STOP = re.compile(rf"([.?!])((?:\s*{_MARK})+)")  # "It is so. [1]" becomes "It is so [1]."
NUMBER = re.compile(r"\d+")
THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)  # what some models write before their answer


@dataclass(frozen=True, slots=True)
class CitedText:
    """A written answer as sentences with their citations. `cut` is true if sentences were left out, because the answer was too long."""

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

    An answer that is not `whole` is still being written, so its last sentence is left out.
    """
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
