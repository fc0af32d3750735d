"""DPRL's systems of Task 1: the answers of questions similar to the topic.

The chain scores an answer by the similarity of its question times its votes, or times the score of the pair of topic
and answer. SVM-Rank is a linear model over similarity, pair score, tags in common, votes and reputation of the author,
each scaled to 0..1 within a topic. Both follow the authors' description. The published model was trained on judgments
and is not published. Here it is trained on judged topics, or, without them, on duplicate questions of the collection,
whose answers count as relevant to each other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from porism.corpus.content import Content
from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.evaluate.qrels import read_qrels
from porism.files import digest_file
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.arrays import Flags, Floats, Ints, best_of
from porism.systems.declared.context import SystemContext
from porism.systems.documents import InputFormat, TextForm, form_code, question_text, question_texts
from porism.systems.dprl.math_amr import AmrForm, amr_form
from porism.systems.encoded import TextSource
from porism.systems.named_models import chosen_model
from porism.systems.neural import PairScorer, TextVectors, open_pair_scorer
from porism.systems.topic_queries import topic_of

Reads = Literal["text", "amr"]
Scored = Literal["votes", "pairs"]


@dataclass(frozen=True, slots=True)
class ChainForm:
    """How topics, questions and answers are written: as text, or as graphs of meaning by a parser."""

    amr_parser: str = ""
    reads: Reads = "text"

    def form(self, context: SystemContext) -> TextForm:
        """Return the form."""
        return amr_form(context, self.amr_parser) if self.reads == "amr" else InputFormat(lower=True)


@dataclass(frozen=True, slots=True)
class ChainInput:
    """What the models read: the number of similar questions, and the tokens of a question and of a pair."""

    questions: int = 1000
    length: int = 128
    pair_length: int = 512


class QuestionAnswers(NamedTuple):
    """Answers of similar questions, with the similarity of the question and the votes of each."""

    answers: Ints
    similarities: Floats
    votes: Floats


@dataclass(frozen=True)
class Questions:
    """The questions of a collection as vectors, and their answers; a search reads the `number` most similar ones."""

    content: Content
    vectors: TextVectors
    form: TextForm
    number: int

    def candidates(self, query: str, number: int, without: int = 0) -> QuestionAnswers:
        """Return the answers of the `number` most similar questions; the question `without` is left out."""
        cosines, ids = self.vectors.cosines(query), self.vectors.documents.ids
        first = np.lexsort((ids, -cosines))[: number + 1].tolist()
        order = [at for at in first if int(ids[at]) != without][:number]
        answers = self.content.answers_by_question(ids[order].tolist())
        rows = [
            (answer.id, float(cosines[at]), answer.score) for at in order for answer in answers.get(int(ids[at]), ())
        ]
        found, similarities, votes = np.array(rows, np.float64).reshape(-1, 3).T
        return QuestionAnswers(found.astype(np.int64), similarities, votes)


def open_questions(context: SystemContext, bi_encoder: str, form: TextForm, chain: ChainInput) -> Questions:
    """Return the questions of the collection; their vectors are computed once."""
    chosen = chosen_model(bi_encoder, context.models)
    documents = partial(question_texts, context.content, form)
    source = TextSource("question-vectors", form.key, documents, form_code(form))
    return Questions(context.content, TextVectors(context, chosen, source, chain.length), form, chain.questions)


def vote_shares(votes: Floats) -> Floats:
    """Return votes from 0 to 1: divided by the largest; all 1 where no answer has votes."""
    best = votes.max(initial=0.0)
    return np.ones(len(votes)) if best <= 0 else np.clip(votes, 0.0, None) / best


class ChainSearch(Retriever):
    """Ranks answers of the most similar `questions` by that similarity times `answers`: votes, or a pair's score."""

    def __init__(
        self,
        context: SystemContext,
        bi_encoder: str,
        cross_encoder: str = "",
        *,
        written: ChainForm,
        answers: Scored = "votes",
        chain: ChainInput,
    ) -> None:
        scored = answers == "pairs"
        if scored and not cross_encoder:
            raise PorismError("pairs need a model", fix="name it: cross_encoder = NAME, or write answers = votes")
        self._form = form = written.form(context)
        self._scorer = open_pair_scorer(context, cross_encoder, form, chain.pair_length) if scored else None
        self._questions = open_questions(context, bi_encoder, form, chain)
        self.models = (self._questions.vectors.use, *((self._scorer.use,) if self._scorer else ()))
        self.notes = (self._form.note,) if isinstance(self._form, AmrForm) else ()

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k answers; of equal scores the smaller id comes first."""
        text = self._form.topic(topic_of(query))
        if not text or k < 1:
            return Ranking.of({})
        found = self._questions.candidates(text, self._questions.number)
        own = self._scorer.shares(text, found.answers) if self._scorer else vote_shares(found.votes)
        return best_of(found.answers, np.maximum(found.similarities, 0.0) * own, k)


MOST_PAIRS = 2000  # of a topic; more are thinned out evenly


class TrainingTopic(NamedTuple):
    """The features of the items of one topic (items x features), and which items are relevant."""

    features: Floats
    relevant: Flags


def pair_differences(topic: TrainingTopic) -> Floats:
    """Return the differences of the features of relevant and other items."""
    pairs = topic.features[topic.relevant][:, None, :] - topic.features[~topic.relevant][None, :, :]
    flat = pairs.reshape(-1, topic.features.shape[1])
    return flat[np.linspace(0, len(flat) - 1, MOST_PAIRS).astype(np.int64)] if len(flat) > MOST_PAIRS else flat


def train_pairwise(topics: Sequence[TrainingTopic], features: int, cost: float) -> Floats:
    """Minimise |w|^2 / 2 + cost x sum of each topic's mean squared hinge loss; without a pair, weights are equal."""
    from scipy.optimize import minimize

    differences = [pairs for topic in topics if len(topic.features) and len(pairs := pair_differences(topic))]
    if not differences:
        return np.full(features, 1.0 / features)
    table = np.concatenate(differences)
    shares = np.concatenate([np.full(len(pairs), 1.0 / len(pairs)) for pairs in differences])

    def loss(weights: Floats) -> tuple[float, Floats]:
        gaps = np.maximum(1.0 - table @ weights, 0.0)
        value = 0.5 * weights @ weights + cost * float(shares @ (gaps * gaps))
        return float(value), np.asarray(weights - 2.0 * cost * ((shares * gaps) @ table))

    result = minimize(loss, np.full(features, 0.1), jac=True, method="L-BFGS-B")
    return np.asarray(result.x, np.float64)


FEATURES = ("question similarity", "pair score", "common tags", "votes", "reputation")
RELEVANT = 2  # least grade
TRAINING_QUESTIONS = 20  # similar questions whose answers are candidates in training


@dataclass(frozen=True, slots=True)
class SvmTraining:
    """`cost` is the C of the SVM; `topics` and `qrels` are files of judged topics to train on. Without them, at most
    `duplicates` pairs of duplicate questions of the collection are used."""

    cost: float = 0.2
    topics: str = ""
    qrels: str = ""
    duplicates: int = 100

    def __post_init__(self) -> None:
        if bool(self.topics) != bool(self.qrels):
            fix = "give both: topics=FILE and qrels=FILE, or none"
            raise PorismError("training needs topics and judgments", fix=fix)

    @property
    def key(self) -> tuple[object, ...]:
        """What shapes the model."""
        source = (digest_file(self.topics), digest_file(self.qrels)) if self.topics else (self.duplicates,)
        return (*source, self.cost)

    def examples(self, features: AnswerFeatures) -> Iterator[TrainingTopic]:
        """Return the topics to train on."""
        judged = judged_topics(features, self.topics, self.qrels)
        return judged if self.topics else _linked(features, self.duplicates)


class AnswerFeatures:
    """The features of candidates."""

    def __init__(self, questions: Questions, scorer: PairScorer) -> None:
        self.questions, self.scorer = questions, scorer
        self.content = questions.content
        self.models = (questions.vectors.use, scorer.use)
        self._reputations = {user.id: float(np.log1p(max(user.reputation, 0))) for user in self.content.users()}

    def matrix(self, text: str, tags: tuple[str, ...], found: QuestionAnswers) -> Floats:
        """Return one row of features for each candidate, each column from 0 to 1."""
        posts = self.content.posts_by_id(found.answers.tolist())
        threads = self.content.posts_by_id(sorted({post.thread_id for post in posts.values()}))
        rows = [posts[answer] for answer in found.answers.tolist()]
        common = [len(set(tags) & set(threads[post.thread_id].tags)) for post in rows]
        reputation = [self._reputations.get(post.owner_id or 0, 0.0) for post in rows]
        pairs = self.scorer.scores(text, found.answers)
        table = np.column_stack((found.similarities, pairs, common, found.votes, reputation))
        if not len(table):
            return table
        spread = np.ptp(table, axis=0)
        return np.asarray((table - table.min(axis=0)) / np.where(spread == 0, 1.0, spread))


def _linked(features: AnswerFeatures, most: int) -> Iterator[TrainingTopic]:
    """Yield duplicate questions of the collection: the answers of the other question are relevant."""
    content = features.content
    links = sorted({(link.post_id, link.other_id) for link in content.all_links() if link.kind == "duplicate"})
    known = content.known_posts([question for question, _ in links])
    answers = content.answers_by_question([other for question, other in links if question in known])
    chosen = [(question, other) for question, other in links if question in known and other in answers][:most]
    posts = content.posts_by_id([question for question, _ in chosen])
    for question, other in chosen:
        post = posts[question]
        text = question_text(post, features.questions.form)
        found = features.questions.candidates(text, TRAINING_QUESTIONS, without=question)
        relevant = [answer.id for answer in answers[other]]
        yield TrainingTopic(features.matrix(text, post.tags, found), np.isin(found.answers, relevant))


def judged_topics(features: AnswerFeatures, topics: str, qrels: str) -> Iterator[TrainingTopic]:
    """Yield judged topics for training; candidates without a judgment are left out."""
    grades = read_qrels(qrels)
    for topic in read_topics(topics):
        judged = grades.get(topic.id, {})
        text = features.questions.form.topic(topic)
        if not judged or not text:
            continue
        found = features.questions.candidates(text, len(features.questions.vectors.documents.ids))
        known = np.array([str(answer) in judged for answer in found.answers.tolist()], np.bool_)
        kept = QuestionAnswers(found.answers[known], found.similarities[known], found.votes[known])
        relevant = np.array([judged[str(answer)] >= RELEVANT for answer in kept.answers.tolist()], np.bool_)
        yield TrainingTopic(features.matrix(text, topic.tags, kept), relevant)


class SvmAnswers(Retriever):
    """Ranks the answers of the most similar `questions` by a linear model. `topics` and `qrels` are files of judged
    topics to train on; without them, at most `duplicates` pairs of duplicate questions of the collection are used.
    `cost` is the C of the SVM."""

    def __init__(
        self, context: SystemContext, bi_encoder: str, cross_encoder: str, *, chain: ChainInput, training: SvmTraining
    ) -> None:
        form = ChainForm().form(context)
        scorer = open_pair_scorer(context, cross_encoder, form, chain.pair_length)
        self._features = features = AnswerFeatures(open_questions(context, bi_encoder, form, chain), scorer)
        self.models = features.models

        def build(folder: Path) -> None:
            weights = train_pairwise(list(training.examples(features)), len(FEATURES), training.cost)
            (folder / "weights.json").write_text(json.dumps(weights.tolist()), "utf-8")

        digests = (use.digest for use in features.models)
        key = [*training.key, chain.questions, chain.length, *digests, features.models[1]]
        folder = context.cached("answer-svm", [str(part) for part in key], build)
        self._weights = np.array(json.loads((folder / "weights.json").read_text("utf-8")))
        shown = ", ".join(f"{name} {weight:.2f}" for name, weight in zip(FEATURES, self._weights.tolist(), strict=True))
        source = "judged topics" if training.topics else "duplicate questions"
        self.notes = (f"SVM trained on {source}: {shown}",)

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k answers; of equal scores the smaller id comes first."""
        answers, matrix = self._candidates(query)
        return best_of(answers, matrix @ self._weights, k) if len(answers) and k > 0 else Ranking.of({})

    def _candidates(self, query: ReadQuery) -> tuple[Ints, Floats]:
        """Return the answers and their features."""
        topic, questions = topic_of(query), self._features.questions
        text = questions.form.topic(topic)
        if not text:
            return np.empty(0, np.int64), np.empty((0, len(FEATURES)))
        found = questions.candidates(text, questions.number)
        return found.answers, self._features.matrix(text, topic.tags, found)

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return each feature times its weight."""
        answers, matrix = self._candidates(query)
        rows = np.flatnonzero(answers == id)
        if not len(rows):
            return super().explain(query, id)
        values = matrix[rows[0]] * self._weights
        parts = tuple(Explanation(float(value), name) for name, value in zip(FEATURES, values, strict=True))
        return Explanation(float(values.sum()), "linear model of five features", parts)
