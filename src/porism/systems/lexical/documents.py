"""Documents of named systems as text: answers, answers with their questions, all posts. Formulas are LaTeX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from porism.corpus.store.collection import Collection
from porism.text.render import plain_text
from porism.text.segment import Segment, Text

DocumentKind = Literal["answer", "question+answer"]


class TextDocument(NamedTuple):
    """A document as text, named by the id of its answer."""

    id: int
    text: str


def latex_text(text: Text) -> str:
    """Return text without mark-up, each formula as its LaTeX between dollar signs."""
    return plain_text(text, _dollars)


def _dollars(segment: Segment) -> str:
    return f" ${segment.text}$ "


def answer_documents(collection: Collection, kind: DocumentKind) -> Iterator[TextDocument]:
    """Yield each answer as a document, in the order of ids: its body alone, or title and body of the question before it."""
    if kind == "answer":
        for answer in collection.posts("answer"):
            yield TextDocument(answer.id, latex_text(answer.body))
        return
    for answer in collection.posts("answer"):
        question = collection.post(answer.thread_id)
        fields = (question.title, question.body, answer.body)
        yield TextDocument(answer.id, "\n".join(latex_text(one) for one in fields))
