"""DPRL's chain of Task 1: questions similar to the topic, then their answers, scored by both steps.

How answers are scored is described by the authors, not published as code: the similarity of the questions times the
votes of the answer, or times the score of the pair of topic and answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.dprl.math_amr import AmrForm, amr_form
from porism.systems.neural.dense import TextVectors
from porism.systems.neural.named_models import ModelUse, chosen_model
from porism.systems.neural.pairs import PairScorer, open_pair_scorer
from porism.systems.neural.texts import InputFormat, TextForm, form_code, question_texts
from porism.systems.topic_queries import topic_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Reads = Literal["text", "amr"]
Scored = Literal["votes", "pairs"]


def question_chain(
    context: SystemContext,
    bi_encoder: str,
    cross_encoder: str = "",
    amr_parser: str = "",
    reads: Reads = "text",
    answers: Scored = "votes",
    questions: int = 1000,
    length: int = 128,
    pair_length: int = 512,
) -> Retriever:
    """Rank the answers of the most similar `questions`. `answers` says what their similarity is multiplied with: votes,
    or the score of a pair."""
    if answers == "pairs" and not cross_encoder:
        raise PorismError("pairs need a model", fix="name it: cross_encoder = NAME, or write answers = votes")
    form = chain_form(context, reads, amr_parser)
    scorer = open_pair_scorer(context, cross_encoder, form, pair_length) if answers == "pairs" else None
    return ChainSearch(open_questions(context, bi_encoder, form, length), questions, form, scorer)


def chain_form(context: SystemContext, reads: Reads, amr_parser: str) -> TextForm:
    """Return how topics, questions and answers are written."""
    return amr_form(context, amr_parser) if reads == "amr" else InputFormat("dollars", lower=True)


class Candidates:
    """Answers of similar questions, with the similarity of the question of each."""

    def __init__(self, answers: Ints, similarities: Floats, votes: Floats) -> None:
        self.answers, self.similarities, self.votes = answers, similarities, votes


@dataclass(frozen=True)
class Questions:
    """The questions of a collection as vectors, and their answers."""

    content: Content
    vectors: TextVectors
    form: TextForm

    @property
    def use(self) -> ModelUse:
        """The model of the vectors."""
        return self.vectors.use

    def candidates(self, query: str, number: int, without: int = 0) -> Candidates:
        """Return the answers of the `number` questions that are most similar to a query; the question `without` is left
        out."""
        cosines = self.vectors.cosines(query)
        ids = self.vectors.documents.ids
        first = np.lexsort((ids, -cosines))[: number + 1].tolist()
        order = [at for at in first if int(ids[at]) != without][:number]
        columns = np.array(list(self._rows(ids, cosines, order)), np.float64).reshape(-1, 3)
        return Candidates(columns[:, 0].astype(np.int64), columns[:, 1], columns[:, 2])

    def _rows(self, ids: Ints, cosines: npt.NDArray[np.float32], order: list[int]) -> Iterator[tuple[int, float, int]]:
        answers = self.content.answers_by_question(ids[order].tolist())
        for at in order:
            for answer in answers.get(int(ids[at]), ()):
                yield answer.id, float(cosines[at]), answer.score


def open_questions(context: SystemContext, bi_encoder: str, form: TextForm, length: int) -> Questions:
    """Return the questions of the collection; their vectors are computed once."""
    chosen = chosen_model(bi_encoder, context.models)
    documents = partial(question_texts, context.content, form)
    vectors = TextVectors(context, "question-vectors", chosen, form.key, documents, length, form_code(form))
    return Questions(context.content, vectors, form)


def vote_shares(votes: Floats) -> Floats:
    """Return votes from 0 to 1: divided by the largest; all 1 where no answer has votes."""
    best = votes.max(initial=0.0)
    return np.ones(len(votes)) if best <= 0 else np.clip(votes, 0.0, None) / best


class ChainSearch(Retriever):
    """Ranks answers by the similarity of their question times their own score."""

    def __init__(self, questions: Questions, number: int, form: TextForm, scorer: PairScorer | None) -> None:
        self._questions, self._number, self._form, self._scorer = questions, number, form, scorer
        self.models = (questions.use, *((scorer.use,) if scorer else ()))
        self.notes = (form.note,) if isinstance(form, AmrForm) else ()

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k answers; of equal scores the smaller id comes first."""
        text = self._form.topic(topic_of(query))
        if not text or k < 1:
            return Ranking.of({})
        found = self._questions.candidates(text, self._number)
        own = self._scorer.shares(text, found.answers) if self._scorer else vote_shares(found.votes)
        scores = np.maximum(found.similarities, 0.0) * own
        order = np.lexsort((found.answers, -scores))[:k]
        return Ranking(found.answers[order], scores[order])
