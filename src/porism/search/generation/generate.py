"""Answers to questions: the best passage of the best posts, or what a language model writes from their passages.

Generated answers are marked as such. The model is asked to cite the passages; every citation is checked, and sentences
without one are marked. Without an answer of the model, the best passage remains."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from porism.deadline import remaining
from porism.errors import PorismError
from porism.search.display.results import AnswerSentence, Extract, QuotedPost
from porism.search.display.snippet import SnippetBuilder, plain_title
from porism.search.generation.answer_text import MAX_LENGTH, CitedText, as_text, cited_text, has_open_formula
from porism.search.generation.endpoint import Endpoint, Message, Sampling
from porism.store.records import StoredPost

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
    found = []
    for post, question, _ in asking.posts:
        passage = asking.builder.passage(post.body, PASSAGE_LENGTH)
        if passage:
            found.append(QuotedPost(post.id, post.thread_id, plain_title(question.title), passage))
    return tuple(found)


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
        return (
            Message("system", INSTRUCTION),
            Message("user", f"Passages:\n\n{passages}\n\nQuestion: {self.question}"),
        )


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
            yield Writing(None, _unfinished(text, done))
    except PorismError as error:
        yield without_answer(basis, error)
        return
    yield finished_answer(basis, text, time.perf_counter() - began)


def _unfinished(text: str, done: CitedText) -> str:
    """Return the last sentence of a text, which is not complete yet."""
    every = cited_text(text, 0).sentences
    return as_text(every[-1].segments) if len(every) > len(done.sentences) else ""


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
