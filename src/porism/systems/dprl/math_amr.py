"""MathAMR: graphs of meaning in which formulas are operator trees, and retrieval by their text."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.formula import parse
from porism.records import Topic
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.approach0.text_index import sentences
from porism.systems.arrays import first_of_each
from porism.systems.declared.context import SystemContext
from porism.systems.documents import ITALIC, TextDocument
from porism.systems.encoded import TextSource
from porism.systems.named_models import chosen_model, directory_for
from porism.systems.neural import TextVectors
from porism.systems.topic_queries import query_formula, topic_of, topic_text
from porism.text.segment import Text, plain_text

PLACEHOLDER = re.compile(r"\"?\beqx(\d+)eqx\b\"?")
_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_GRAPH = re.compile(r"\(\s*[^\s/()]+\s*/\s*([^\s()]+)|:[^\s():]++\s+(\"[^\"]*\"|[^\s()\"]+)")
_VARIABLE = re.compile(r"[a-z]+\d*")


@lru_cache(100_000)
def operator_nodes(latex: str) -> str:
    """Return the nodes of a formula's operator tree in depth-first order: labels without their types, variables in
    italics.

    >>> operator_nodes("x^2+1=y")
    'eq plus SUP 𝑥 2 1 𝑦'
    """
    labels = (node.label for node in parse(latex).operators.walk())
    return " ".join(
        label[2:].translate(ITALIC) if label.startswith("V!") else label.partition("!")[2] or label for label in labels
    )


class AmrParser:
    """A parser of amrlib, from a model directory."""

    def __init__(self, directory: str) -> None:
        if not Path(directory).is_dir():
            raise PorismError("no such directory", where=directory, fix="name the directory of an amrlib parser")
        try:
            amrlib: Any = importlib.import_module("amrlib")
        except ImportError:
            fix = "pip install amrlib penman, or leave the parser out"
            raise PorismError("the Python package amrlib is not installed", fix=fix) from None
        total = hashlib.sha256()
        for path in sorted(Path(directory).rglob("*")):
            if path.is_file():
                total.update(f"{path.relative_to(directory)} {path.stat().st_size}\n".encode())
        self.directory, self.digest = directory, total.hexdigest()[:16]
        self._model = amrlib.load_stog_model(model_dir=directory)

    def graphs(self, texts: Sequence[str]) -> list[str]:
        """Return the graph of each sentence in Penman notation; none for a sentence that cannot be parsed."""
        return [graph or "" for graph in self._model.parse_sents(list(texts))]


def graph_nodes(graph: str) -> str:
    """Return the nodes of a graph in Penman notation, depth first; a variable that repeats a node is left out.

    >>> graph_nodes('(s / show-01 :polarity - :ARG1 (e / equal-01 :ARG1 (x / string-entity :value "eqx3eqx")))')
    'show-01 - equal-01 string-entity eqx3eqx'
    """
    found = []
    for concept, constant in _GRAPH.findall(graph):
        if concept:
            found.append(concept)
        elif constant and not _VARIABLE.fullmatch(constant):
            found.append(constant if not PLACEHOLDER.fullmatch(constant) else constant.strip('"'))
    return " ".join(found).lower()


class AmrForm:
    """Text as linearised MathAMR: by a parser, or by the stand-in."""

    def __init__(self, parser: AmrParser | None = None) -> None:
        self._parser = parser

    @property
    def key(self) -> tuple[object, ...]:
        """What shapes the text."""
        return ("amr", self._parser.digest if self._parser else "words")

    @property
    def note(self) -> str:
        """Return one sentence for a reader of the run."""
        if self._parser:
            return f"meaning graphs by the AMR parser in {self._parser.directory}"
        words = "meaning graphs are the words of the text in order, with operator trees of formulas"
        return f"substitute: no AMR parser; {words}"

    def text(self, text: Text) -> str:
        """Return a field of a post."""
        return self.linear(marked_text(text), [segment.text for segment in text.formulas])

    def topic(self, topic: Topic) -> str:
        """Return title and body of a topic."""
        fields = (topic_text(topic, "title"), topic_text(topic, "question"))
        return " ".join(self.text(field) for field in fields).strip()

    def linear(self, text: str, formulas: Sequence[str]) -> str:
        """Return text, whose placeholders number the formulas, in linear form."""
        if self._parser:
            nodes = " ".join(graph_nodes(graph) for graph in self._parser.graphs(sentences(text)))
        else:
            nodes = " ".join(word.lower() for word in _WORD.findall(text))
        return PLACEHOLDER.sub(lambda match: "".join(map(operator_nodes, formulas[int(match[1]) :][:1])), nodes)


def marked_text(text: Text) -> str:
    """Return a text with a placeholder for each formula, numbered by position."""
    numbers = count()
    return plain_text(text, lambda segment: f' "eqx{next(numbers)}eqx" ')


def formula_context(text: Text, number: int, around: int = 1) -> str:
    """Return the sentence with the formula at a position and `around` sentences on each side, with placeholders."""
    split = [one for line in marked_text(text).split("\n") for one in sentences(line) if one.strip()]
    mark = f"eqx{number}eqx"
    at = next((place for place, sentence in enumerate(split) if mark in sentence), None)
    return "" if at is None else " ".join(split[max(at - around, 0) : at + around + 1])


def amr_form(context: SystemContext, amr_parser: str) -> AmrForm:
    """Return the form of text with the parser that the user gave, or with the stand-in."""
    place = directory_for(amr_parser, context.models) if amr_parser else ""
    return AmrForm(AmrParser(place) if place else None)


def chosen_instances(content: Content, most: int) -> dict[int, int]:
    """Return the visual ids of the instances that are read: the first `most` of each in questions and answers."""
    seen: Counter[int] = Counter()
    found: dict[int, int] = {}
    for formula in content.formulas():
        if formula.kind == "comment" or not content.is_listed(formula):
            continue
        seen[formula.visual_id] += 1
        if not most or seen[formula.visual_id] <= most:
            found[formula.id] = formula.visual_id
    return found


def context_documents(content: Content, visuals: dict[int, int], form: AmrForm, around: int) -> Iterator[TextDocument]:
    """Yield the context of each chosen instance, by formula id; a formula without a post is its operator tree."""
    if not content.count("posts"):
        for formula in content.formulas():
            if formula.id in visuals:
                yield TextDocument(formula.id, operator_nodes(formula.latex))
        return
    for post in content.posts():
        for text in (post.title, post.body):
            for number, segment in enumerate(text.formulas):
                if segment.formula_id in visuals:
                    yield TextDocument(segment.formula_id, context_text(text, number, form, around))


def context_text(text: Text, number: int, form: AmrForm, around: int) -> str:
    """Return the context of the formula at a position, in linear form."""
    return form.linear(formula_context(text, number, around), [one.text for one in text.formulas])


class ContextSearch(Retriever):
    """Ranks visual ids by their best context. `instances` of each are read, 0 for all; `around` counts sentences before
    and after that of the formula."""

    finds = "formulas"

    def __init__(
        self,
        context: SystemContext,
        bi_encoder: str,
        amr_parser: str = "",
        instances: int = 1,
        around: int = 1,
        length: int = 128,
    ) -> None:
        form, visuals = amr_form(context, amr_parser), chosen_instances(context.content, instances)
        documents = partial(context_documents, context.content, visuals, form, around)
        source = TextSource("mathamr", (*form.key, instances, around), documents, (__name__,))
        self._vectors = TextVectors(context, chosen_model(bi_encoder, context.models), source, length)
        self._form, self._around = form, around
        self._visuals = np.array([visuals[number] for number in self._vectors.documents.ids.tolist()], np.int64)
        self.models, self.notes = (self._vectors.use,), (form.note,)

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k visual ids."""
        text = self.query_text(query)
        if not text or not len(self._visuals):
            return Ranking.of({})
        scores = self._vectors.cosines(text).astype(np.float64)
        order = np.lexsort((self._visuals, -scores))
        kept = first_of_each(self._visuals, order, k)
        return Ranking(self._visuals[kept], scores[kept])

    def query_text(self, query: ReadQuery) -> str:
        """Return the context of the topic's formula; a formula that the post does not show is its operator tree."""
        topic = topic_of(query)
        wanted = topic.formula_id.rpartition("_")[2]
        for field in ("title", "question"):
            text = topic_text(topic, field)
            for number, segment in enumerate(text.formulas):
                if wanted.isdecimal() and segment.formula_id == int(wanted):
                    return context_text(text, number, self._form, self._around)
        formula = query_formula(query)
        return "" if formula is None else operator_nodes(formula.latex)
