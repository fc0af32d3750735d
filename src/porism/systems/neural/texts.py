"""Topics and posts as the text that a model reads: which fields, and formulas as LaTeX, as LaTeX between marks, or
removed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from porism.corpus.content import Content
from porism.corpus.post import Post
from porism.models.directory import ModelDirectory
from porism.records import Topic
from porism.systems.lexical.documents import TextDocument
from porism.systems.topic_queries import topic_text
from porism.text.render import plain_text
from porism.text.segment import Segment, Text

Formulas = Literal["dollars", "bare", "marks", "removed"]
_SPACE = re.compile(r"\s+")
_WRITTEN: Mapping[Formulas, Callable[[Segment], str]] = {
    "dollars": lambda segment: f" ${segment.text}$ ",
    "bare": lambda segment: f" {segment.text} ",
    "marks": lambda segment: f" [MATH] {segment.text} [/MATH] ",
    "removed": lambda segment: " ",
}


class TextForm(Protocol):
    """How topics and posts are written for a model. Forms with equal keys write equal texts of posts."""

    @property
    def key(self) -> tuple[object, ...]:
        """What shapes the text of posts, for the key of their encodings."""
        ...

    def text(self, text: Text) -> str:
        """Return a field of a post."""
        ...

    def topic(self, topic: Topic) -> str:
        """Return a topic as a query."""
        ...


@dataclass(frozen=True, slots=True)
class InputFormat:
    """How text is written for a model. `query` holds the fields {title}, {body} and {tags} of a topic."""

    formulas: Formulas = "dollars"
    lower: bool = False
    query: str = "{title} {body}"

    @property
    def key(self) -> tuple[object, ...]:
        """What shapes the text of posts."""
        return (self.formulas, self.lower)

    def for_model(self, directory: ModelDirectory) -> InputFormat:
        """Return the same format in lower case where the tokenizer of a model ignores case, so that systems share
        encodings."""
        return replace(self, lower=True) if ignores_case(directory) else self

    def text(self, text: Text) -> str:
        """Return a field of a post."""
        return self._cased(_SPACE.sub(" ", plain_text(text, _WRITTEN[self.formulas])).strip())

    def topic(self, topic: Topic) -> str:
        """Return a topic as a query; a topic without text is an empty query."""
        title, body = (self.text(topic_text(topic, field)) for field in ("title", "question"))
        if not (title or body or topic.tags):
            return ""
        filled = self.query.format(title=title, body=body, tags=self._cased(" ".join(topic.tags)))
        return _SPACE.sub(" ", filled).strip()

    def _cased(self, text: str) -> str:
        return text.lower() if self.lower else text


def ignores_case(directory: ModelDirectory) -> bool:
    """Return whether the tokenizer of a model says that it turns text into lower case."""
    try:
        settings = json.loads((directory.path / "tokenizer_config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(settings, dict) and settings.get("do_lower_case") is True


def form_code(form: TextForm) -> tuple[str, ...]:
    """Return the modules that shape the text of a form."""
    return (__name__, type(form).__module__)


def answer_texts(content: Content, form: TextForm) -> Iterator[TextDocument]:
    """Yield the body of each answer, in the order of ids."""
    for answer in content.posts("answer"):
        yield TextDocument(answer.id, form.text(answer.body))


def question_texts(content: Content, form: TextForm) -> Iterator[TextDocument]:
    """Yield title and body of each question, in the order of ids."""
    for question in content.posts("question"):
        yield TextDocument(question.id, question_text(question, form))


def question_text(question: Post, form: TextForm) -> str:
    """Return title and body of a question."""
    return f"{form.text(question.title)} {form.text(question.body)}".strip()
