"""The text side of Approach0: words and their stems, posts as documents, and an index of both."""

from __future__ import annotations

import html
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from porism.corpus.content import Content
from porism.corpus.sources.raw import OWN_IDS
from porism.systems.arrays import Flags, Floats, Ints, Small, StoredIndex, grouped
from porism.systems.documents import answers_with_questions, nltk_porter, nltk_tools
from porism.text.segment import Text

K1, B = 2.0, 0.75
LEAST_PROXIMITY = 0.3


class WordDocument(NamedTuple):
    """The words of a document, each with its position; `length` counts formulas too, each as one position."""

    words: Sequence[tuple[str, int]]
    length: int


@dataclass(frozen=True)
class TextIndex(StoredIndex):
    """Occurrences of words: those of word w, by document and position, are at starts[w] to starts[w + 1]."""

    lengths: Small
    starts: Ints
    documents: Small
    positions: Small

    @cached_property
    def mean_length(self) -> int:
        """The mean length of a document, cut to an integer as in the original."""
        return max(int(self.lengths.mean()), 1) if len(self.lengths) else 1

    def _occurrences(self, word: str) -> tuple[Small, Small]:
        """Return the document and the position of each occurrence of a word."""
        code = self.codes.get(word)
        place = slice(0, 0) if code is None else slice(int(self.starts[code]), int(self.starts[code + 1]))
        return self.documents[place], self.positions[place]

    def weights(self, word: str) -> tuple[Small, Floats]:
        """Return the documents of a word and its BM25 weight in each."""
        documents, counts = np.unique(self._occurrences(word)[0], return_counts=True)
        idf = np.log((len(self.lengths) + 1) / max(len(documents), 1))
        norm = K1 * (1 - B + B * self.lengths[documents] / self.mean_length)
        return documents, np.asarray(idf * (1 + (K1 + 1) * counts / (counts + norm)), np.float64)

    def scores(self, words: Sequence[str]) -> tuple[Floats, Flags]:
        """Return every document's BM25, and whether it has a word of the query. Repeated words count again."""
        scores = np.zeros(len(self.lengths))
        found = np.zeros(len(self.lengths), np.bool_)
        for word, number in Counter(words).items():
            documents, weights = self.weights(word)
            scores[documents] += number * weights
            found[documents] = True
        return scores, found

    def proximity(self, words: Sequence[str]) -> Floats:
        """Return ln(0.3 + e^-d) of every document; d is the smallest distance of two different words of the query."""
        distances = np.full(len(self.lengths), np.inf)
        lists = [self._occurrences(word) for word in dict.fromkeys(words)]
        if len(lists) > 1:
            documents, positions = map(np.concatenate, zip(*lists, strict=True))
            items = np.repeat(np.arange(len(lists)), [len(found) for found, _ in lists])
            order = np.lexsort((positions, documents))
            documents, positions, items = documents[order], positions[order], items[order]
            pairs = (documents[1:] == documents[:-1]) & (items[1:] != items[:-1])
            np.minimum.at(distances, documents[1:][pairs], (positions[1:] - positions[:-1])[pairs])
        return np.asarray(np.log(LEAST_PROXIMITY + np.exp(-distances)), np.float64)


def index_words(documents: Iterable[WordDocument]) -> TextIndex:
    """Index the words of documents, in their order."""
    codes: dict[str, int] = {}
    lengths, words, places, positions = array("i"), array("i"), array("i"), array("i")
    for place, document in enumerate(documents):
        lengths.append(document.length)
        for word, position in document.words:
            words.append(codes.setdefault(word, len(codes)))
            places.append(place)
            positions.append(position)
    order, starts = grouped(np.array(words, np.int32), len(codes))
    documents_of, positions_of = (np.array(one, np.int32)[order] for one in (places, positions))
    return TextIndex(codes, np.array(lengths, np.int32), starts, documents_of, positions_of)


WORD = re.compile(r"[a-z0-9_]+")
# Where a sentence ends, NLTK's word tokenizer separates the full stop from the word; elsewhere it leaves it there. NLTK
# finds sentences with a model that must be downloaded; this rule needs none: a full stop before blank and capital
# letter, except after these abbreviations.
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9])")
ABBREVIATIONS = (
    "e.g.", "i.e.", "cf.", "resp.", "vs.", "eq.", "fig.", "thm.", "dr.", "prof.", "mr.", "st.", "no.", "pp.", "p.",
)  # fmt: skip

Analyser = Callable[[str], list[str]]


def engine_words(text: str) -> list[str]:
    """Return the words as the engine's lexer splits them: ASCII letters, digits and underscores, in lower case."""
    return WORD.findall(text.lower())


def porter_words(text: str) -> list[str]:
    """Return the words after NLTK's word tokenizer, its Porter stemmer and its Treebank detokenizer."""
    tokens = [token for sentence in sentences(text) for token in nltk_tools().word_tokens(sentence)]
    return engine_words(nltk_tools().detokenize([_stemmed(token) for token in tokens]))


def sentences(text: str) -> list[str]:
    """Split text into sentences."""
    found: list[str] = []
    start = 0
    for match in SENTENCE_END.finditer(text):
        if not text[start : match.start()].lower().endswith(ABBREVIATIONS):
            found.append(text[start : match.start()])
            start = match.end()
    return [*found, text[start:]]


@lru_cache(200_000)
def _stemmed(token: str) -> str:
    """Return the stem of a token; a hyphenated one keeps its hyphens, and each part is stemmed."""
    return "-".join(nltk_porter(part) for part in token.split("-"))


ANALYSERS: dict[str, Analyser] = {"none": engine_words, "porter": porter_words}
MARKER = "__ANSWER__"  # the word between question and answer
MOST_INSTANCES = 5  # of a visual id
Advance = Callable[[int], None]


class DocumentFormulas(NamedTuple):
    """Documents by id, and the numbers of the formulas of each, from starts[d] to starts[d + 1]."""

    ids: Ints
    starts: Ints
    formulas: Ints


class IndexedFormula(NamedTuple):
    """A formula of a post that is a document of Task 2."""

    id: int
    visual_id: int
    formula: int


def distinct_formulas(content: Content) -> Iterator[str]:
    """Yield the LaTeX of each distinct formula, in the order of expression ids, with entities decoded."""
    return (html.unescape(expression.latex) for expression in content.expressions())


def formula_instances(content: Content) -> Iterator[IndexedFormula]:
    """Yield the documents of Task 2 in the order of ids: not those of comments, and at most five of a visual id.
    Formulas without an official visual id, in a collection that has them, count as one."""
    numbers = {expression.latex: expression.id - 1 for expression in content.expressions()}
    seen: Counter[int] = Counter()
    for formula in content.formulas():
        if formula.kind == "comment" or not content.is_listed(formula):
            continue
        group = formula.visual_id if formula.visual_id < OWN_IDS else OWN_IDS
        seen[group] += 1
        if seen[group] <= MOST_INSTANCES:
            yield IndexedFormula(formula.id, formula.visual_id, numbers[formula.latex])


def index_answers(content: Content, analyser: Analyser, advance: Advance) -> tuple[DocumentFormulas, TextIndex]:
    """Index every answer with its question: words with positions, and the formulas of both."""
    ids, starts, formulas = array("q"), array("q", [0]), array("q")
    first_own = content.first_own_formula or 2**62
    fields: dict[int, list[str | int]] = {}  # the items of the question of the thread at hand

    def documents() -> Iterator[WordDocument]:
        for question, answer in answers_with_questions(content):
            if question.id not in fields:
                fields.clear()
                texts = (question.title, question.body)
                fields[question.id] = [item for text in texts for item in _items(text, analyser, first_own)]
            items = [*fields[question.id], *engine_words(MARKER), *_items(answer.body, analyser, first_own)]
            formulas.extend(item for item in items if isinstance(item, int))
            ids.append(answer.id)
            starts.append(len(formulas))
            advance(1)
            yield WordDocument([(item, place) for place, item in enumerate(items) if isinstance(item, str)], len(items))

    words = index_words(documents())
    return DocumentFormulas(*(np.array(one, np.int64) for one in (ids, starts, formulas))), words


def _items(text: Text, analyser: Analyser, first_own: int) -> Iterator[str | int]:
    """Yield the words of a text and, in their places, the numbers of its formulas. Formulas that the official list
    lacks, from id `first_own`, are text, as in the official posts."""
    pieces: list[str] = []
    for segment in text.segments:
        if segment.kind == "formula" and segment.formula_id < first_own:
            yield from analyser("".join(pieces))
            pieces.clear()
            yield segment.expression_id - 1
        elif segment.kind != "tag":
            pieces.append(segment.text if segment.kind == "text" else f" {segment.text} ")
    yield from analyser("".join(pieces))
