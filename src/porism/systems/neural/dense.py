"""Answers by the cosine of their vectors with that of the query: the first stage of MIRMU, and CompuBERT."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.neural.chosen_models import ChosenModel, ModelUse, chosen_model
from porism.systems.neural.encodings import Documents, EncodedDocuments, Singles, encoded_documents
from porism.systems.neural.opening import open_bi_encoder
from porism.systems.neural.texts import Formulas, InputFormat, TextForm, answer_texts, form_code
from porism.systems.queries.topic_query import topic_of


def dense_answers(
    context: SystemContext,
    bi_encoder: str,
    query: str = "{title} {body}",
    formulas: Formulas = "dollars",
    lower: bool = False,
    length: int = 0,
) -> Retriever:
    """Rank all answers by cosine. `query` is the text of a topic with the fields {title}, {body} and {tags}; `length` counts tokens."""
    form = InputFormat(formulas, lower, query)
    vectors = answer_vectors(context, chosen_model(bi_encoder, context.models), form, length)
    return DenseSearch(vectors, form)


class TextVectors:
    """Documents with one vector each, and the bi-encoder that made them and makes those of queries."""

    def __init__(
        self,
        context: SystemContext,
        name: str,
        chosen: ChosenModel,
        key: tuple[object, ...],
        documents: Documents,
        length: int,
        code: Sequence[str],
    ) -> None:
        self._encoder = open_bi_encoder(chosen.directory, length)
        read = self._encoder.record.length
        self.use: ModelUse = chosen.use(f"bi-encoder, {read} tokens")
        parts = (*key, read, chosen.directory.digest)
        self.documents: EncodedDocuments = encoded_documents(context, name, parts, documents, self._encode, code)

    def _encode(self, texts: Sequence[str]) -> list[Singles]:
        return [vector[None, :] for vector in self._encoder.encode(texts)]

    def cosines(self, text: str) -> Singles:
        """Return the cosine of each document with a query."""
        if not len(self.documents.ids):
            return np.zeros(0, np.float32)
        return self.documents.cosines(self._encoder.encode([text], role="query")[0])


def answer_vectors(context: SystemContext, chosen: ChosenModel, form: TextForm, length: int) -> TextVectors:
    """Return the vectors of all answers; systems with the same form of text and model share them."""
    form = form if not isinstance(form, InputFormat) else form.for_model(chosen.directory)
    documents = partial(answer_texts, context.content, form)
    return TextVectors(context, "answer-vectors", chosen, form.key, documents, length, form_code(form))


class DenseSearch(Retriever):
    """Ranks documents by the cosine of their vectors."""

    def __init__(self, vectors: TextVectors, form: TextForm) -> None:
        self._vectors, self._form = vectors, form
        self.models = (vectors.use,)

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k documents; of equal scores the smaller id comes first."""
        text = self._form.topic(topic_of(query))
        if not text or k < 1:
            return Ranking.of({})
        return best_of(self._vectors.documents, self._vectors.cosines(text), k)


def best_of(documents: EncodedDocuments, scores: Singles, k: int) -> Ranking:
    """Return the k documents with the highest scores; of equal scores the smaller id comes first."""
    order = np.lexsort((documents.ids, -scores))[: max(k, 0)]
    return Ranking(np.asarray(documents.ids[order], np.int64), scores[order].astype(np.float64))
