"""Documents of named systems as text, and NLTK's tokenizers and stemmers for their words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeVar

from porism.corpus.content import Content
from porism.corpus.post import Post
from porism.errors import PorismError
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
    """Yield each answer as a document, in the order of ids: its body alone, or title and body of the question before
    it."""
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
