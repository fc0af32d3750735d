"""Documents of Approach Zero: an answer with its question (Task 1), and instances of formulas (Task 2)."""

from __future__ import annotations

import html
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.corpus.content import Content
from porism.corpus.sources.raw import OWN_IDS
from porism.systems.approach0.text_index import TextIndex, WordDocument, index_words
from porism.systems.approach0.words import Analyser, engine_words
from porism.systems.lexical.documents import answers_with_questions
from porism.text.segment import Text

MARKER = "__ANSWER__"  # the word between question and answer
MOST_INSTANCES = 5  # of a visual id
Ints = npt.NDArray[np.int64]
Advance = Callable[[int], None]


class DocumentFormulas(NamedTuple):
    """Documents by id, and the formulas of each (numbers of distinct formulas, from 0), from starts[d] to starts[d + 1]."""

    ids: Ints
    starts: Ints
    formulas: Ints

    def occurrences(self, size: int) -> Ints:
        """Return how often each formula occurs."""
        return np.bincount(self.formulas, minlength=size).astype(np.int64)

    def save(self, folder: Path) -> None:
        """Write the arrays into a folder."""
        for name in self._fields:
            np.save(folder / f"document_{name}.npy", getattr(self, name))

    @classmethod
    def open(cls, folder: Path) -> DocumentFormulas:
        """Open the arrays of a folder."""
        return cls(*(np.load(folder / f"document_{name}.npy") for name in cls._fields))


class Instance(NamedTuple):
    """A formula of a post that is a document of Task 2."""

    id: int
    visual_id: int
    formula: int


def distinct_formulas(content: Content) -> Iterator[str]:
    """Yield the LaTeX of each distinct formula, in the order of expression ids, with entities decoded."""
    return (html.unescape(expression.latex) for expression in content.expressions())


def formula_instances(content: Content) -> Iterator[Instance]:
    """Yield the documents of Task 2 in the order of ids: not those of comments, and at most five of a visual id. Formulas without an official
    visual id, in a collection that has them, count as one."""
    numbers = {expression.latex: expression.id - 1 for expression in content.expressions()}
    seen: Counter[int] = Counter()
    for formula in content.formulas():
        if formula.kind == "comment" or not content.is_listed(formula):
            continue
        group = formula.visual_id if formula.visual_id < OWN_IDS else OWN_IDS
        seen[group] += 1
        if seen[group] <= MOST_INSTANCES:
            yield Instance(formula.id, formula.visual_id, numbers[formula.latex])


def index_answers(content: Content, analyser: Analyser, advance: Advance) -> tuple[DocumentFormulas, TextIndex]:
    """Index every answer with its question: words with positions, and the formulas of both."""
    ids, starts, formulas = array("q"), array("q", [0]), array("q")
    first_own = content.first_own_formula or 2**62
    fields: dict[int, list[str | int]] = {}  # the items of the question of the thread at hand

    def documents() -> Iterator[WordDocument]:
        for question, answer in answers_with_questions(content):
            if question.id not in fields:
                fields.clear()
                fields[question.id] = [
                    *_items(question.title, analyser, first_own),
                    *_items(question.body, analyser, first_own),
                ]
            items = [*fields[question.id], *engine_words(MARKER), *_items(answer.body, analyser, first_own)]
            formulas.extend(item for item in items if isinstance(item, int))
            ids.append(answer.id)
            starts.append(len(formulas))
            advance(1)
            yield WordDocument([(item, place) for place, item in enumerate(items) if isinstance(item, str)], len(items))

    words = index_words(documents())
    return DocumentFormulas(*(np.array(one, np.int64) for one in (ids, starts, formulas))), words


def _items(text: Text, analyser: Analyser, first_own: int) -> Iterator[str | int]:
    """Yield the words of a text and, in their places, the numbers of its formulas. Formulas that the official list lacks, from id
    `first_own`, are text, as in the official posts."""
    pieces: list[str] = []
    for segment in text.segments:
        if segment.kind == "formula" and segment.formula_id < first_own:
            yield from analyser("".join(pieces))
            pieces.clear()
            yield segment.expression_id - 1
        elif segment.kind != "tag":
            pieces.append(segment.text if segment.kind == "text" else f" {segment.text} ")
    yield from analyser("".join(pieces))
