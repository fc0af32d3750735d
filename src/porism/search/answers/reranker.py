"""Re-rank by features: fetch a bounded number of threads in one batch, compute every feature, and sum them with a linear model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from porism.deadline import check
from porism.index.protocols import UNKNOWN, Filter
from porism.search.answers.candidates import MOST_THREADS
from porism.search.answers.context import CandidateBatch, Contexts, QueryContext
from porism.search.answers.model import Model
from porism.search.answers.terms import QueryTerms
from porism.search.features import all_features
from porism.search.features.feature import Feature, Kind
from porism.search.features.feedback import BEST, feedback_terms
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Reranker

Ints = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """The features of a batch: one array for each feature, over threads or over answers depending on its level."""

    batch: CandidateBatch
    values: dict[str, Matrix]

    def matrix(self, kind: Kind) -> Matrix:
        """Return one row a question or answer, one column a feature in the order of `all_features()`."""
        features = all_features()
        count = len(self.batch.ids(kind))
        matrix = np.zeros((count, len(features)), np.float32)
        for column, feature in enumerate(features):
            if feature.name not in self.values:
                continue
            own = self.values[feature.name]
            if kind == "questions":
                matrix[:, column] = own if feature.level == "thread" else 0.0
            else:
                matrix[:, column] = own if feature.level == "answer" else own[self.batch.thread_of_answer]
        return matrix


@dataclass(frozen=True, slots=True)
class QueryScoring:
    """How the candidates of a query are scored: by the context of the query, the features in use, and a factor for each of all features.

    The factors are the weights of the model over the standard deviations of the features; a score is the sum of factor x value.
    """

    context: QueryContext
    features: tuple[Feature, ...]
    factors: Matrix


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """What further pages and explanations need of a scored query. It is small, so that many queries can be kept."""

    scoring: QueryScoring
    ranking: Ranking
    thread_count: int


@dataclass(frozen=True, eq=False)
class ScoredQuery:
    """A query with its candidates and all their features."""

    scoring: QueryScoring
    table: FeatureTable

    @property
    def context(self) -> QueryContext:
        """The context of the query."""
        return self.scoring.context

    @property
    def factors(self) -> Matrix:
        """The factor of each feature."""
        return self.scoring.factors

    def ranked(self, kind: Kind, allow: Filter | None = None) -> RankedQuery:
        """Rank the candidates, and return the query without their features."""
        return RankedQuery(self.scoring, self.ranking(kind, allow), self.table.batch.thread_count)

    def scores(self, kind: Kind) -> Matrix:
        """Return the score of every question or answer of the batch."""
        scores: Matrix = self.table.matrix(kind) @ self.factors
        return scores

    def ranking(self, kind: Kind, allow: Filter | None = None) -> Ranking:
        """Return all questions or answers with a positive score that a filter allows, best first."""
        batch, scores = self.table.batch, self.scores(kind)
        kept = scores > 0
        if allow:
            posts = batch.documents.starts if kind == "questions" else batch.answer_posts
            kept &= allow.passes(batch.documents.years[posts], batch.documents.accepted[posts])
        return Ranking.sorted(batch.ids(kind)[kept], scores[kept])


class FeatureReranker(Reranker):
    """Re-rank threads, identified by their questions; return answers or questions by the weighted sum of their features."""

    depth = MOST_THREADS

    def __init__(self, contexts: Contexts, model: Model, kind: Kind) -> None:
        self.contexts = contexts
        self.index = contexts.index
        self.model = model
        self.kind: Kind = kind

    def __repr__(self) -> str:
        return f"FeatureReranker(kind={self.kind!r})"

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        """Return the answers or questions of the threads, best first."""
        return self.score(query, self.rows(ranking)).ranking(self.kind)

    def rows(self, ranking: Ranking) -> Ints:
        """Return the rows of the threads of a ranking, at most `depth`."""
        threads = self.index.documents.locate(ranking.ids[: self.depth]).threads
        return np.asarray(threads[threads != UNKNOWN])

    def score(self, query: ReadQuery, threads: Ints, *, every: bool = False) -> ScoredQuery:
        """Score threads by the features that have a weight, or by every feature (for training)."""
        weights = self.model.vector(self.kind)
        features = self._used(weights, every)
        context = self.contexts.of(query)
        batch = self._batch(context, threads, features)
        table = FeatureTable(batch, _values([one for one in features if one.stage == 0], batch))
        later = [one for one in features if one.stage > 0]
        if later:
            context = batch.context = context.with_feedback(self._feedback(context, table, weights))
            table.values.update(_values(later, batch))
        factors = weights / scales(table.matrix(self.kind), self._size(self.kind))
        return ScoredQuery(QueryScoring(context, tuple(features), factors), table)

    def score_more(self, scoring: QueryScoring, threads: Ints) -> ScoredQuery:
        """Score further threads of a query that was scored before, by the same features and factors."""
        batch = self._batch(scoring.context, threads, scoring.features)
        return ScoredQuery(scoring, FeatureTable(batch, _values(scoring.features, batch)))

    def _used(self, weights: Matrix, every: bool) -> list[Feature]:
        pairs = zip(all_features(), weights.tolist(), strict=True)
        return [feature for feature, weight in pairs if every or weight > 0]

    def _batch(self, context: QueryContext, threads: Ints, features: Collection[Feature]) -> CandidateBatch:
        families = {family for feature in features for family in feature.families}
        vectors = {family for feature in features for family in feature.vectors} & self.index.vectors.keys()
        return CandidateBatch(context, self.index.documents.fetch(threads, sorted(families), sorted(vectors)))

    def _feedback(self, context: QueryContext, table: FeatureTable, weights: Matrix) -> dict[str, QueryTerms]:
        """Return feedback terms from the best threads by the features so far."""
        matrix = table.matrix("questions")
        scores = matrix @ (weights / scales(matrix, self._size("questions")))
        best = table.batch.documents.rows[np.argsort(-scores, kind="stable")[:BEST]]
        return feedback_terms(context, self.index.documents.fetch(best, ("words", "tuples")))

    def _size(self, kind: Kind) -> int:
        return self.index.documents.size("question" if kind == "questions" else "answer")


def _values(features: Sequence[Feature], batch: CandidateBatch) -> dict[str, Matrix]:
    values: dict[str, Matrix] = {}
    for feature in features:
        check()
        values[feature.name] = feature.compute(batch)
    return values


def scales(matrix: Matrix, posts: int) -> Matrix:
    """Return the standard deviation of each feature over all posts; posts that are no candidates have the value 0. A deviation of 0 becomes 1."""
    number = max(1, posts, len(matrix))
    mean = matrix.sum(0, np.float64) / number
    square = (matrix.astype(np.float64) ** 2).sum(0) / number
    deviation = np.sqrt(np.maximum(square - mean * mean, 0.0))
    return np.where(deviation > 1e-9, deviation, 1.0).astype(np.float32)
