"""Posts and topics as the texts that systems read, and NLTK's tokenizers and stemmers for their words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Literal, NamedTuple, Protocol

from porism.corpus.content import Content, batched
from porism.corpus.post import Post
from porism.errors import PorismError
from porism.models.directory import ModelDirectory
from porism.records import Topic
from porism.systems.topic_queries import topic_text
from porism.text.segment import Segment, Text, plain_text

DocumentKind = Literal["answer", "question+answer"]
# Letters of mathematical italic; that of h is in another block of Unicode.
ITALIC = {
    ord(letter): chr(first + place)
    for first, letters in ((0x1D44E, ascii_lowercase), (0x1D434, ascii_uppercase))
    for place, letter in enumerate(letters)
} | {ord("h"): "ℎ"}
AT_ONCE = 500  # items of a stream for which more is read in one request


class TextDocument(NamedTuple):
    """A document as text, named by the id of its answer."""

    id: int
    text: str


def latex_text(text: Text) -> str:
    """Return text without mark-up, each formula as its LaTeX between dollar signs."""
    return plain_text(text, _WRITTEN["dollars"])


def answer_documents(content: Content, kind: DocumentKind) -> Iterator[TextDocument]:
    """Yield each answer as a document, by id: its body alone, or after title and body of its question."""
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
    for answers in batched(content.posts("answer"), AT_ONCE):
        questions = content.posts_by_id([answer.thread_id for answer in answers])
        yield from (AnsweredQuestion(questions[answer.thread_id], answer) for answer in answers)


class NltkTools:
    """NLTK's Treebank tokenizer, its word tokenizer with the inverse, and its stemmers."""

    def __init__(self) -> None:
        try:
            from nltk.stem.porter import PorterStemmer
            from nltk.tokenize.destructive import NLTKWordTokenizer
            from nltk.tokenize.treebank import TreebankWordDetokenizer, TreebankWordTokenizer
        except ImportError:
            raise PorismError("this system needs nltk", fix="pip install 'porism[systems]'") from None
        self.treebank_tokens: Any = TreebankWordTokenizer().tokenize
        self.word_tokens: Any = NLTKWordTokenizer().tokenize
        self.detokenize: Any = TreebankWordDetokenizer().detokenize
        self.nltk_stem: Any = PorterStemmer().stem
        self.martin_stem: Any = PorterStemmer(PorterStemmer.MARTIN_EXTENSIONS).stem


@lru_cache(1)
def nltk_tools() -> NltkTools:
    """Return the tools, loaded on first use."""
    return NltkTools()


@lru_cache(50_000)
def nltk_porter(word: str) -> str:
    """Return the stem of a word with NLTK's extensions (irregular forms, short words), which are its default."""
    return str(nltk_tools().nltk_stem(word))


@lru_cache(200_000)
def martin_porter(word: str) -> str:
    """Return the stem of a lower-case word with the three departures of Porter's own program from his paper of 1980."""
    return str(nltk_tools().martin_stem(word, to_lowercase=False))


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

    query: str = "{title} {body}"
    formulas: Formulas = "dollars"
    lower: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What shapes the text of posts."""
        return (self.formulas, self.lower)

    def for_model(self, directory: ModelDirectory) -> InputFormat:
        """Return the format in lower case where the tokenizer ignores case, so that systems share encodings."""
        try:
            settings = json.loads((directory.path / "tokenizer_config.json").read_text("utf-8"))
        except (OSError, ValueError):
            return self
        ignores_case = isinstance(settings, dict) and settings.get("do_lower_case") is True
        return replace(self, lower=True) if ignores_case else self

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
