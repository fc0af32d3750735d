"""Answers to questions: the best passage of the best posts, or what a language model writes from their passages.

Both are text of at most 1,200 characters, cut after a sentence, never inside a formula. Generated answers are marked as
such. The model is asked to cite the passages; every citation is checked, and sentences without one are marked. Without
an answer of the model, the best passage remains."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from porism.deadline import remaining
from porism.errors import PorismError
from porism.search.display.results import AnswerSentence, Extract, HighlightedSegment, QuotedPost
from porism.search.display.snippet import SnippetBuilder, plain_title, split_sentences
from porism.search.generation.endpoint import Endpoint, Message, Sampling
from porism.store.records import StoredPost
from porism.text.segment import Segment
from porism.text.typed.box import split_query

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
        return " ".join(
            as_text(one.segments) + "".join(f" [{number}]" for number in one.cited) for one in self.sentences
        )


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
    texts = (piece.text if piece.is_formula else CITATION.sub("", piece.text) for piece in pieces)
    segments = tuple(
        HighlightedSegment("formula" if piece.is_formula else "text", text)
        for piece, text in zip(pieces, texts, strict=True)
        if text
    )
    return AnswerSentence(segments, cited, tuple(set(numbers) - set(cited)))


INSTRUCTION = (
    "Answer the question in mathematics from the numbered passages, in at most 1,000 characters of plain text. "
    "Write formulas in LaTeX between dollar signs. "
    "After each sentence cite the passages that support it by their numbers, as [1] or [2, 3]. "
    "Cite only these passages. If they do not answer the question, say so."
)
MOST_TEXT = 6_000  # characters that are read of an answer; five times what is shown
RESERVE_SECONDS = 0.3  # of the time limit of a query, for showing the answer
PASSAGE_LENGTH = 900  # characters of each
MAX_POSTS = 5  # of the ranking that are considered, and that a language model reads
MIN_LENGTH = 80  # after a shorter passage the next post is tried


class Asking(NamedTuple):
    """A question as searched: its best posts, the builder of its passages, notes, and when the search began."""

    posts: Sequence[StoredPost]
    builder: SnippetBuilder
    notes: tuple[str, ...]
    began: float


def best_passage(asking: Asking) -> Extract:
    """Return the best passage of the first post that has one of useful length, else of the last post considered."""
    best = Extract("", (), (), 0.0, notes=(*asking.notes, "no post matches this question"))
    for post, question, _ in asking.posts:
        segments = asking.builder.passage(post.body, MAX_LENGTH)
        text = as_text(segments)
        source = QuotedPost(post.id, post.thread_id, plain_title(question.title))
        best = Extract(text, segments, (source,), 0.0, notes=asking.notes)
        if len(text) >= MIN_LENGTH:
            break
    return replace(best, seconds=time.perf_counter() - asking.began)


def best_passages(asking: Asking) -> tuple[QuotedPost, ...]:
    """Return the best posts, each with its best passage, for a language model to read and to cite."""
    return tuple(
        QuotedPost(post.id, post.thread_id, plain_title(question.title), passage)
        for post, question, _ in asking.posts
        if (passage := asking.builder.passage(post.body, PASSAGE_LENGTH))
    )


@dataclass(frozen=True, slots=True)
class AnswerBasis:
    """What an answer is written from: the question, the best passage, and the passages of the best posts."""

    question: str
    extract: Extract
    sources: tuple[QuotedPost, ...]

    def messages(self) -> tuple[Message, ...]:
        """Return the conversation that asks for an answer."""
        passages = "\n\n".join(
            f"[{number}] From “{as_text(source.title)}”:\n{as_text(source.passage)}"
            for number, source in enumerate(self.sources, 1)
        )
        asked = f"Passages:\n\n{passages}\n\nQuestion: {self.question}"
        return Message("system", INSTRUCTION), Message("user", asked)


@dataclass(frozen=True, slots=True)
class Writing:
    """An answer while it is written: a sentence that is complete, or the text after the last complete one."""

    sentence: AnswerSentence | None
    unfinished: str = ""


def generate_answer(endpoint: Endpoint, basis: AnswerBasis) -> Extract:
    """Return the model's answer; the best passage, with a note, if the model does not answer."""
    began = time.perf_counter()
    seconds = min(endpoint.seconds, max(remaining() - RESERVE_SECONDS, RESERVE_SECONDS))
    try:
        made = replace(endpoint, seconds=seconds).chat(basis.messages(), Sampling())
    except PorismError as error:
        return without_answer(basis, error)
    return finished_answer(basis, made.text, time.perf_counter() - began)


def stream_answer(endpoint: Endpoint, basis: AnswerBasis) -> Iterator[Writing | Extract]:
    """Yield an answer while it is written, and at last the whole; the best passage if the model does not answer."""
    began = time.perf_counter()
    text, shown = "", 0
    try:
        for piece in endpoint.stream(basis.messages(), Sampling()):
            text += piece
            if has_open_formula(text):
                continue
            done = cited_text(text, len(basis.sources), whole=False)
            for sentence in done.sentences[shown:]:
                yield Writing(sentence)
            shown = max(shown, len(done.sentences))
            if done.cut or len(text) > MOST_TEXT:
                break
            every = cited_text(text, 0).sentences  # the last one may not be complete yet
            yield Writing(None, as_text(every[-1].segments) if len(every) > len(done.sentences) else "")
    except PorismError as error:
        yield without_answer(basis, error)
        return
    yield finished_answer(basis, text, time.perf_counter() - began)


def finished_answer(basis: AnswerBasis, text: str, seconds: float) -> Extract:
    """Return the answer with its citations checked; the best passage if it is empty."""
    found = cited_text(text, len(basis.sources))
    if not found.sentences:
        return without_answer(basis, PorismError("the answer is empty"))
    unknown = sorted({number for sentence in found.sentences for number in sentence.unknown})
    notes = list(basis.extract.notes)
    if unknown:
        cited = ", ".join(f"[{number}]" for number in unknown)
        notes.append(f"the model cited {cited}, which it was not given; these citations were removed")
    if found.cut:
        notes.append("the answer of the model was longer; it is cut after a sentence")
    segments = tuple(segment for sentence in found.sentences for segment in sentence.segments)
    total = basis.extract.seconds + seconds
    return Extract(found.text, segments, basis.sources, total, True, tuple(notes), found.sentences)


def without_answer(basis: AnswerBasis, error: PorismError) -> Extract:
    """Return the best passage with a note that says why there is no generated answer."""
    fact = f"{error.where}: {error.message}" if error.where else error.message
    note = f"the language model did not answer ({fact}), so this is the best passage"
    return replace(basis.extract, notes=(*basis.extract.notes, note))
