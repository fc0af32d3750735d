"""DPRL's SVM-Rank of Task 1: a linear model over features of the answers of similar questions.

Features, after the authors' description: similarity of the questions, score of topic and answer, tags in common, votes,
reputation of the author; each scaled to 0..1 within a topic. The model of the published run was trained on judgments
and is not published. It is trained here on judged topics, or, without them, on duplicate questions of the collection,
whose answers count as relevant to each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.evaluate.qrels import read_qrels
from porism.files import digest_file
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.dprl.question_chain import Candidates, Questions, chain_form, open_questions
from porism.systems.neural.pairs import PairScorer, open_pair_scorer
from porism.systems.neural.texts import question_text
from porism.systems.topic_queries import topic_of

MOST_PAIRS = 2000  # of a topic; more are thinned out evenly


class TrainingTopic(NamedTuple):
    """The features of the items of one topic (items x features), and which items are relevant."""

    features: Floats
    relevant: npt.NDArray[np.bool_]


def pair_differences(topic: TrainingTopic) -> Floats:
    """Return the differences of the features of relevant and other items."""
    pairs = topic.features[topic.relevant][:, None, :] - topic.features[~topic.relevant][None, :, :]
    flat = pairs.reshape(-1, topic.features.shape[1])
    return flat[np.linspace(0, len(flat) - 1, MOST_PAIRS).astype(np.int64)] if len(flat) > MOST_PAIRS else flat


def train_pairwise(topics: Sequence[TrainingTopic], features: int, cost: float) -> Floats:
    """Return the weights that minimise |w|^2 / 2 + cost x sum over topics of the mean squared hinge loss. Without a
    pair, all weights are equal."""
    from scipy.optimize import minimize

    differences = [
        pairs for pairs in (pair_differences(topic) for topic in topics if len(topic.features)) if len(pairs)
    ]
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


Floats = npt.NDArray[np.float64]
FEATURES = ("question similarity", "pair score", "common tags", "votes", "reputation")
RELEVANT = 2  # least grade
TRAINING_QUESTIONS = 20  # similar questions whose answers are candidates in training


def answer_svm(
    context: SystemContext,
    bi_encoder: str,
    cross_encoder: str,
    questions: int = 1000,
    length: int = 128,
    pair_length: int = 512,
    cost: float = 0.2,
    topics: str = "",
    qrels: str = "",
    duplicates: int = 100,
) -> Retriever:
    """Rank the answers of the most similar `questions` by a linear model. `topics` and `qrels` are files of judged
    topics to train on; without them, at most `duplicates` pairs of duplicate questions of the collection are used.
    `cost` is the C of the SVM."""
    if bool(topics) != bool(qrels):
        raise PorismError("training needs topics and judgments", fix="give both: topics=FILE and qrels=FILE, or none")
    form = chain_form(context, "text", "")
    features = AnswerFeatures(
        open_questions(context, bi_encoder, form, length),
        open_pair_scorer(context, cross_encoder, form, pair_length),
    )
    source = [digest_file(topics), digest_file(qrels)] if topics else [duplicates]
    key = [*source, cost, questions, length, *(use.digest for use in features.models), *features.models[1:]]
    examples = partial(judged_topics, features, topics, qrels) if topics else partial(_linked, features, duplicates)
    build = partial(_train, examples, cost)
    folder = context.cached("answer-svm", [str(part) for part in key], build, (train_pairwise.__module__,))
    weights = np.array(json.loads((folder / "weights.json").read_text("utf-8")))
    return SvmAnswers(features, weights, questions, "judged topics" if topics else "duplicate questions")


class AnswerFeatures:
    """The features of candidates."""

    def __init__(self, questions: Questions, scorer: PairScorer) -> None:
        self.questions, self.scorer = questions, scorer
        self.content = questions.content
        self.models = (questions.use, scorer.use)
        self._reputations = {user.id: float(np.log1p(max(user.reputation, 0))) for user in self.content.users()}

    def matrix(self, text: str, tags: tuple[str, ...], found: Candidates) -> Floats:
        """Return one row of features for each candidate, each column from 0 to 1."""
        posts = self.content.posts_by_id(found.answers.tolist())
        threads = self.content.posts_by_id(sorted({post.thread_id for post in posts.values()}))
        rows = [posts[answer] for answer in found.answers.tolist()]
        common = [len(set(tags) & set(threads[post.thread_id].tags)) for post in rows]
        reputation = [self._reputations.get(post.owner_id or 0, 0.0) for post in rows]
        pairs = self.scorer.scores(text, found.answers)
        columns = (found.similarities, pairs, common, found.votes, reputation)
        return np.column_stack([_scaled(np.asarray(column, np.float64)) for column in columns])


def _scaled(values: Floats) -> Floats:
    spread = np.ptp(values) if len(values) else 0.0
    return np.zeros(len(values)) if spread == 0 else np.asarray((values - values.min()) / spread)


class LinkedQuestion(NamedTuple):
    """A question and one that is marked as its duplicate."""

    question: int
    other: int


def _linked(features: AnswerFeatures, most: int) -> Iterator[TrainingTopic]:
    """Yield duplicate questions of the collection as training topics: the answers of the other question are
    relevant."""
    content = features.content
    duplicates = (link for link in content.all_links() if link.kind == "duplicate")
    links = sorted({LinkedQuestion(link.post_id, link.other_id) for link in duplicates})
    known = content.known_posts([link.question for link in links])
    answers = content.answers_by_question([link.other for link in links if link.question in known])
    chosen = [link for link in links if link.question in known and link.other in answers][:most]
    posts = content.posts_by_id([link.question for link in chosen])
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
        kept = Candidates(found.answers[known], found.similarities[known], found.votes[known])
        relevant = np.array([judged[str(answer)] >= RELEVANT for answer in kept.answers.tolist()], np.bool_)
        yield TrainingTopic(features.matrix(text, topic.tags, kept), relevant)


def _train(examples: partial[Iterator[TrainingTopic]], cost: float, folder: Path) -> None:
    weights = train_pairwise(list(examples()), len(FEATURES), cost)
    (folder / "weights.json").write_text(json.dumps(weights.tolist()), "utf-8")


class SvmAnswers(Retriever):
    """Ranks the answers of similar questions by the linear model."""

    def __init__(self, features: AnswerFeatures, weights: Floats, questions: int, source: str) -> None:
        self._features, self._weights, self._number = features, weights, questions
        self.models = features.models
        told = ", ".join(f"{name} {weight:.2f}" for name, weight in zip(FEATURES, weights.tolist(), strict=True))
        self.notes = (f"SVM trained on {source}: {told}",)

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k answers; of equal scores the smaller id comes first."""
        found, matrix = self._candidates(query)
        if not len(found.answers) or k < 1:
            return Ranking.of({})
        scores = matrix @ self._weights
        order = np.lexsort((found.answers, -scores))[:k]
        return Ranking(found.answers[order], scores[order])

    def _candidates(self, query: ReadQuery) -> tuple[Candidates, Floats]:
        topic = topic_of(query)
        text = self._features.questions.form.topic(topic)
        nothing = Candidates(np.empty(0, np.int64), np.empty(0), np.empty(0))
        if not text:
            return nothing, np.empty((0, len(FEATURES)))
        found = self._features.questions.candidates(text, self._number)
        return found, self._features.matrix(text, topic.tags, found)

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return each feature times its weight."""
        found, matrix = self._candidates(query)
        rows = np.flatnonzero(found.answers == id)
        if not len(rows):
            return super().explain(query, id)
        values = matrix[rows[0]] * self._weights
        parts = [Explanation(float(value), name) for name, value in zip(FEATURES, values, strict=True)]
        return Explanation(float(values.sum()), "linear model of five features", tuple(parts))
