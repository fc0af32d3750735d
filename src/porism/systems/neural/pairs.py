"""Scores of pairs of texts by cross-encoders, and re-ranking with them in blocks."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.search.query import ReadQuery
from porism.search.retriever import DEPTH, Ranking, Reranker
from porism.systems.declared.context import SystemContext
from porism.systems.neural.dense import answer_vectors, open_cross_encoder
from porism.systems.neural.named_models import ChosenModel, ModelUse, chosen_model
from porism.systems.neural.texts import Formulas, InputFormat, TextForm
from porism.systems.topic_queries import topic_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
COSINE_LENGTH = 128  # tokens that a bi-encoder in place of a cross-encoder reads of an answer


class PairScorer(Protocol):
    """Scores answers for a query, which is text in the form of the scorer."""

    use: ModelUse
    form: TextForm

    def scores(self, query: str, answers: Ints) -> Floats:
        """Return one score for each answer: the larger, the better."""
        ...

    def shares(self, query: str, answers: Ints) -> Floats:
        """Return one score from 0 to 1 for each answer, in the same order."""
        ...


def open_pair_scorer(context: SystemContext, cross_encoder: str, form: TextForm, length: int) -> PairScorer:
    """Open the model that scores pairs of a topic and an answer. A bi-encoder is a substitute, whatever its name."""
    chosen = chosen_model(cross_encoder, context.models)
    if chosen.directory.kind == "bi-encoder":
        return CosinePairs(context, chosen, form)
    return CrossPairs(context.content, chosen, form, length)


class CrossPairs:
    """Pairs scored by a cross-encoder."""

    def __init__(self, content: Content, chosen: ChosenModel, form: TextForm, length: int) -> None:
        self._content, self.form = content, form
        self._model = open_cross_encoder(chosen.directory, length)
        self.use = chosen.use(f"cross-encoder, {self._model.record.length} tokens of a pair")

    def scores(self, query: str, answers: Ints) -> Floats:
        """Return the logit of each pair."""
        posts = self._content.posts_by_id(answers.tolist())
        pairs = [(query, self.form.text(posts[answer].body)) for answer in answers.tolist()]
        return self._model.score(pairs).astype(np.float64)

    def shares(self, query: str, answers: Ints) -> Floats:
        """Return the logistic function of the logits."""
        return np.asarray(1.0 / (1.0 + np.exp(-self.scores(query, answers))))


class CosinePairs:
    """Pairs scored by the cosine of two vectors: what a bi-encoder can say of a pair."""

    def __init__(self, context: SystemContext, chosen: ChosenModel, form: TextForm) -> None:
        self.form = form
        self._vectors = answer_vectors(context, chosen, form, COSINE_LENGTH)
        substitute = ChosenModel(chosen.model, chosen.directory, "substitute")
        self.use = substitute.use(f"cosine of a bi-encoder, {COSINE_LENGTH} tokens, not a cross-encoder")

    def scores(self, query: str, answers: Ints) -> Floats:
        """Return the cosine of each answer."""
        if not query or not len(answers):
            return np.zeros(len(answers))
        positions = np.searchsorted(self._vectors.documents.ids, answers)
        return self._vectors.cosines(query)[positions].astype(np.float64)

    def shares(self, query: str, answers: Ints) -> Floats:
        """Return the cosines that are above 0."""
        return np.maximum(self.scores(query, answers), 0.0)


def block_reranker(
    context: SystemContext,
    cross_encoder: str,
    blocks: tuple[int, ...] = (4, 8, 12, 16, 32, 64, 128),
    query: str = "{title} {body}",
    formulas: Formulas = "dollars",
    lower: bool = False,
    length: int = 512,
) -> Reranker:
    """Reorder answers inside consecutive blocks of these sizes; what is behind the last block keeps its order."""
    if not blocks or min(blocks) < 1:
        raise PorismError(f"blocks are {blocks}", fix="write sizes from 1, as 4,8,12")
    form = InputFormat(formulas, lower, query)
    return BlockReranker(open_pair_scorer(context, cross_encoder, form, length), tuple(blocks))


class BlockReranker(Reranker):
    """Reorders hits inside blocks by the score of each pair. The scores of the ranking stay at their ranks."""

    depth = DEPTH

    def __init__(self, scorer: PairScorer, blocks: tuple[int, ...]) -> None:
        self._scorer, self._blocks = scorer, blocks
        self.models = (scorer.use,)

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        """Return the ranking with each block in the order of the model; of equal scores the order of before is kept."""
        ids = np.array(ranking.ids, np.int64)
        first = ids[: sum(self._blocks)]
        if not len(first):
            return ranking
        scores = self._scorer.scores(self._scorer.form.topic(topic_of(query)), first)
        start = 0
        for size in self._blocks:
            end = min(start + size, len(first))
            ids[start:end] = first[start:end][np.argsort(-scores[start:end], kind="stable")]
            start = end
        return Ranking(ids, ranking.scores)
