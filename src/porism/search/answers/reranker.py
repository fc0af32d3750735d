"""Re-rank by features: fetch a bounded number of threads in one batch, compute every feature, and sum them with a linear model.

The best RERANKED candidates are ranked. A sample of the others is fetched with them, because features are measured in standard deviations
over all posts. Whole formulas are compared last, and only in the threads that the other features rank best."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FAMILIES, FIELDS, View
from porism.deadline import check
from porism.search.answers.candidates import MOST_THREADS
from porism.search.answers.context import USUAL_SHARE, CandidateBatch, Contexts, QueryContext
from porism.search.answers.model import Model
from porism.search.answers.views import ANSWER_VIEWS, DOCUMENT_VIEWS, QUESTION_VIEWS
from porism.search.features import all_features, formula_columns, unit_columns
from porism.search.features.feature import Feature, Kind
from porism.search.features.feedback import BEST, feedback_terms, needs_feedback
from porism.search.features.formula_overlap import formulas_of
from porism.search.formulas.overlap import THREADS_COMPARED, has_compared_formulas
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Reranker
from porism.store.records import UNKNOWN, Filter

Ints = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.float32]
RERANKED = 500  # candidate threads that are ranked by features, whatever the size of the collection
SAMPLED = 100  # further candidates, for the standard deviations of the features
NO_THREADS: Ints = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """The features of a batch: one array for each feature, over threads or over answers depending on its level."""

    batch: CandidateBatch
    values: dict[str, Matrix]
    _made: dict[tuple[Kind, int], Matrix] = field(default_factory=dict, repr=False)

    def matrix(self, kind: Kind) -> Matrix:
        """Return one row a question or answer, one column a feature in the order of `all_features()`. Features are only added, so that the
        matrix of a number of features is made once."""
        key = (kind, len(self.values))
        if key not in self._made:
            self._made[key] = self._matrix(kind)
        return self._made[key]

    def _matrix(self, kind: Kind) -> Matrix:
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

    def scales(self, kind: Kind, posts: int) -> Matrix:
        """Return the unit of each feature: its standard deviation over a number of posts. A post that is no candidate has the value 0. A
        deviation of 0 becomes 1. Views of a question are measured in the unit of the whole thread. For answers, a feature of formulas counts by
        the share of formulas in the query."""
        matrix = self.matrix(kind).astype(np.float64)
        counts = np.ones(len(matrix))
        counts[self.batch.ranked_count(kind) :] = self.batch.sample_weight
        number = max(1.0, posts, counts.sum())
        mean, square = counts @ matrix / number, counts @ matrix**2 / number
        deviation = np.sqrt(np.maximum(square - mean * mean, 0.0))
        units = np.where(deviation > 1e-9, deviation, 1.0)
        if kind == "questions":
            units = np.where(deviation[unit_columns()] > 1e-9, units[unit_columns()], units)
        else:
            units[formula_columns()] *= USUAL_SHARE / self.batch.context.formula_share
        return units.astype(np.float32)


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
        kept[batch.ranked_count(kind) :] = False
        if allow:
            posts = batch.documents.starts if kind == "questions" else batch.answer_posts
            kept &= allow.passes(batch.documents.years[posts], batch.documents.accepted[posts])
        return Ranking.sorted(batch.ids(kind)[kept], scores[kept])


class ChosenThreads(NamedTuple):
    """Numbers of threads: the candidates that are ranked, a sample of the others, and how many candidates each thread of the sample counts for."""

    ranked: Ints
    sample: Ints = NO_THREADS
    sample_weight: float = 1.0


class HiddenText(NamedTuple):
    """Fields of the question of a thread, given by its number, that count as empty in some families: what an example must not tell."""

    thread: int
    fields: tuple[str, ...]
    families: tuple[str, ...] = FAMILIES


class FeatureReranker(Reranker):
    """Re-rank threads, identified by their questions; return answers or questions by the weighted sum of their features."""

    depth = MOST_THREADS

    def __init__(self, contexts: Contexts, model: Model, kind: Kind, ranked: int | None = None) -> None:
        """`ranked` is the number of candidates that are ranked, RERANKED unless another is given."""
        self._ranked = ranked
        self.contexts = contexts
        self.index = contexts.index
        self.model = model
        self.kind: Kind = kind

    def __repr__(self) -> str:
        return f"FeatureReranker(kind={self.kind!r})"

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        """Return the answers or questions of the threads, best first."""
        threads = self.index.snapshot.locate(ranking.ids).threads
        return self.score(query, self.choose(np.asarray(threads[threads != UNKNOWN]))).ranking(self.kind)

    def choose(self, threads: Ints, hidden: HiddenText | None = None) -> ChosenThreads:
        """Return those of the candidate threads, best first, that are fetched: those that are ranked, and SAMPLED others. The thread with
        hidden text is one of those that are ranked, the last."""
        number = self._ranked or RERANKED
        ranked, others = threads[:number], threads[number : self.depth]
        sample = others[:: max(1, -(-len(others) // SAMPLED))]
        weight = len(others) / len(sample) if len(sample) else 1.0
        if hidden:
            ranked = np.append(ranked[ranked != hidden.thread], hidden.thread)
            sample = sample[sample != hidden.thread]
        return ChosenThreads(ranked, sample, weight)

    def score(
        self, query: ReadQuery, threads: ChosenThreads, *, every: bool = False, hidden: HiddenText | None = None
    ) -> ScoredQuery:
        """Score threads by the features that have a weight, or by every feature (for training)."""
        weights = self.model.vector(self.kind)
        features = self._used(weights, every)
        table = FeatureTable(self._batch(self.contexts.of(query), threads, features, hidden), {})
        if len(table.batch.context.terms["words"]) and "words" in table.batch.documents.terms:
            best = float(table.batch.term_scores("words", "thread").max(initial=0.0))
            table.batch.context = table.batch.context.with_best_match(best or 1.0)
        for stage in sorted({feature.stage for feature in features}):
            if stage in PREPARATIONS:
                table.batch.context = PREPARATIONS[stage](self, table, weights)
            table.values.update(_values([one for one in features if one.stage == stage], table.batch))
        factors = weights / table.scales(self.kind, self._size(self.kind))
        return ScoredQuery(QueryScoring(table.batch.context, tuple(features), factors), table)

    def score_more(self, scoring: QueryScoring, threads: Ints) -> ScoredQuery:
        """Score further threads of a query that was scored before, by the same features and factors."""
        batch = self._batch(scoring.context, ChosenThreads(threads[:RERANKED]), scoring.features)
        return ScoredQuery(scoring, FeatureTable(batch, _values(scoring.features, batch)))

    def _used(self, weights: Matrix, every: bool) -> list[Feature]:
        pairs = zip(all_features(), weights.tolist(), strict=True)
        return [feature for feature, weight in pairs if every or weight > 0]

    def _batch(
        self,
        context: QueryContext,
        threads: ChosenThreads,
        features: Collection[Feature],
        hidden: HiddenText | None = None,
    ) -> CandidateBatch:
        families = {family for feature in features for family in feature.reads(context)}
        vectors = {name for feature in features for name in feature.vectors} & context.vector_names
        numbers = np.concatenate((threads.ranked, threads.sample))
        documents = self.index.snapshot.threads(numbers, sorted(families), sorted(vectors))
        if hidden:
            fields = [FIELDS.index(name) for name in hidden.fields]
            documents = documents.without(len(threads.ranked) - 1, fields, hidden.families)
        return CandidateBatch(context, documents, self._views(), len(threads.ranked), threads.sample_weight)

    def _views(self) -> Mapping[str, View]:
        if self.kind == "answers":
            return ANSWER_VIEWS
        return QUESTION_VIEWS if self.index.is_forum else DOCUMENT_VIEWS

    def with_similar_formulas(self, table: FeatureTable, weights: Matrix) -> QueryContext:
        """Return the context with the formulas of the best threads by the features so far that are similar to those of the query."""
        batch = table.batch
        if not has_compared_formulas(batch.context.query):
            return batch.context
        best = self._best_threads(table, weights, self.kind, THREADS_COMPARED)
        return batch.context.with_similar_formulas(batch.documents, formulas_of(batch.documents, best))

    def with_feedback(self, table: FeatureTable, weights: Matrix) -> QueryContext:
        """Return the context with feedback terms from the best threads by the features so far, if the query needs them."""
        context = table.batch.context
        if not needs_feedback(table.batch, table.values):
            return context
        best = self._best_threads(table, weights, "questions", BEST)
        return context.with_feedback(feedback_terms(context, table.batch.documents, best))

    def _best_threads(self, table: FeatureTable, weights: Matrix, kind: Kind, number: int) -> Ints:
        """Return the positions of the threads with the best questions or answers, best first."""
        ranked = table.batch.ranked_count(kind)
        scores = table.matrix(kind)[:ranked] @ (weights / table.scales(kind, self._size(kind)))
        order = np.argsort(-scores, kind="stable")
        threads = order if kind == "questions" else table.batch.thread_of_answer[order]
        first = np.unique(threads, return_index=True)[1]
        return np.asarray(threads[np.sort(first)[:number]])

    def _size(self, kind: Kind) -> int:
        return self.index.snapshot.info.count("question" if kind == "questions" else "answer")


# What the features of a stage need of the stages before it.
PREPARATIONS: Mapping[int, Callable[[FeatureReranker, FeatureTable, Matrix], QueryContext]] = {
    1: FeatureReranker.with_similar_formulas,
    2: FeatureReranker.with_feedback,
}


def _values(features: Sequence[Feature], batch: CandidateBatch) -> dict[str, Matrix]:
    values: dict[str, Matrix] = {}
    for feature in features:
        check()
        values[feature.name] = feature.compute(batch)
    return values
