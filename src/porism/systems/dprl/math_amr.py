"""MathAMR: formulas by the cosine of their contexts' vectors. A context is the sentence with the formula and its neighbours, as linearised MathAMR."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

import numpy as np

from porism.corpus.content import Content
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.dprl.amr import AmrForm, AmrParser, formula_context, operator_nodes
from porism.systems.lexical.documents import TextDocument
from porism.systems.neural.chosen_models import chosen_model
from porism.systems.neural.dense import TextVectors
from porism.systems.neural.named_models import directory_for
from porism.systems.queries.topic_query import query_formula, topic_of, topic_text
from porism.text.segment import Text


def math_amr(
    context: SystemContext,
    bi_encoder: str,
    amr_parser: str = "",
    instances: int = 1,
    around: int = 1,
    length: int = 128,
) -> Retriever:
    """Rank formulas by their contexts. `instances` of each visual id are read, 0 for all; `around` counts sentences before and after that of the formula."""
    form = amr_form(context, amr_parser)
    chosen = chosen_model(bi_encoder, context.models)
    visuals = chosen_instances(context.content, instances)
    documents = partial(context_documents, context.content, visuals, form, around)
    key = (*form.key, instances, around)
    vectors = TextVectors(context, "mathamr", chosen, key, documents, length, (__name__, AmrForm.__module__))
    return ContextSearch(vectors, visuals, form, around)


def amr_form(context: SystemContext, amr_parser: str) -> AmrForm:
    """Return the form of text with the parser that the user gave, or with the stand-in."""
    place = directory_for(amr_parser, context.models) if amr_parser else ""
    return AmrForm(AmrParser(place) if place else None)


def chosen_instances(content: Content, most: int) -> dict[int, int]:
    """Return the visual id of each instance that is read: the first `most` of each visual id in questions and answers."""
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
    """Yield the context of each chosen instance, by its formula id; a formula of a list without posts is its operator tree."""
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
    """Ranks visual ids by their best context."""

    finds = "formulas"

    def __init__(self, vectors: TextVectors, visuals: dict[int, int], form: AmrForm, around: int) -> None:
        self._vectors, self._form, self._around = vectors, form, around
        self._visuals = np.array([visuals[number] for number in vectors.documents.ids.tolist()], np.int64)
        self.models = (vectors.use,)
        self.notes = (form.note,)

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k visual ids."""
        text = self.query_text(query)
        if not text or not len(self._visuals):
            return Ranking.of({})
        scores = self._vectors.cosines(text).astype(np.float64)
        order = np.lexsort((self._visuals, -scores))
        _, firsts = np.unique(self._visuals[order], return_index=True)
        kept = order[np.sort(firsts)][: max(k, 0)]
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
