"""Documents of named systems as text: answers, answers with their questions, all posts. Formulas are LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, NamedTuple, TypeVar

from porism.corpus.content import Content
from porism.corpus.post import Post
from porism.text.render import plain_text
from porism.text.segment import Segment, Text

DocumentKind = Literal["answer", "question+answer"]
AT_ONCE = 500  # items of a stream for which more is read in one request
T = TypeVar("T")


class TextDocument(NamedTuple):
    """A document as text, named by the id of its answer."""

    id: int
    text: str


def latex_text(text: Text) -> str:
    """Return text without mark-up, each formula as its LaTeX between dollar signs."""
    return plain_text(text, _dollars)


def _dollars(segment: Segment) -> str:
    return f" ${segment.text}$ "


def answer_documents(content: Content, kind: DocumentKind) -> Iterator[TextDocument]:
    """Yield each answer as a document, in the order of ids: its body alone, or title and body of the question before it."""
    if kind == "answer":
        for answer in content.posts("answer"):
            yield TextDocument(answer.id, latex_text(answer.body))
        return
    for question, answer in answers_with_questions(content):
        fields = (question.title, question.body, answer.body)
        yield TextDocument(answer.id, "\n".join(latex_text(one) for one in fields))


class AnsweredQuestion(NamedTuple):
    """An answer and its question."""

    question: Post
    answer: Post


def answers_with_questions(content: Content) -> Iterator[AnsweredQuestion]:
    """Yield each answer with its question, in the order of answers."""
    for answers in batched(content.posts("answer")):
        questions = content.posts_by_id([answer.thread_id for answer in answers])
        yield from (AnsweredQuestion(questions[answer.thread_id], answer) for answer in answers)


def batched(values: Iterable[T], size: int = AT_ONCE) -> Iterator[list[T]]:
    """Yield values in lists of a size; the last one may be shorter."""
    left = iter(values)
    while some := list(islice(left, size)):
        yield some
