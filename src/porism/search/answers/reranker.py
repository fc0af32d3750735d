"""Re-rank by features: read a bounded number of threads at once, compute every feature, and sum them by the weights of
a linear model.

The best RERANKED candidates are ranked. A sample of the others is fetched with them, because features are measured in
standard deviations over all posts. Whole formulas are compared last, and only in the threads that the other features
rank best."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FAMILIES, FIELDS
from porism.deadline import check
from porism.errors import PorismError
from porism.files import atomic_file
from porism.plugins import FEATURES, or_repair
from porism.records import Explanation
from porism.search.features import all_features, feature_names, formula_columns, plugin_features, unit_columns
from porism.search.features.feature import Feature, RankingSoFar
from porism.search.index import Adaptation, Index
from porism.search.query import KINDS, Kind, ReadQuery
from porism.search.retrieval.candidates import MOST_THREADS, ThreadRanking
from porism.search.retrieval.context import USUAL_SHARE, CandidateBatch, QueryContext
from porism.search.retrieval.query_terms import ANSWER_VIEWS, DOCUMENT_VIEWS, QUESTION_VIEWS
from porism.search.retriever import Ranking, Reranker
from porism.store.records import UNKNOWN, Filter

SHIPPED = "model.toml"


@dataclass(frozen=True, slots=True)
class Model:
    """Weights by kind of post and feature; a feature without a weight has weight 0."""

    weights: Mapping[str, Mapping[str, float]]

    def adapted(self, adaptation: Adaptation) -> Model:
        """Return the model with the weights of questions as a collection chose them."""
        return Model({**self.weights, "questions": adaptation.adapted(self.weights["questions"])})

    def vector(self, kind: Kind) -> npt.NDArray[np.float32]:
        """Return the weights in the order of `feature_names()`."""
        named = self.weights[kind]
        return np.array([named.get(name, 0.0) for name in feature_names()], np.float32)


def load_model(path: Path | None = None) -> Model:
    """Read a model from a file, or the one that comes with Porism."""
    where, fix = "the shipped model" if path is None else str(path), "make one: porism model train ranking"
    try:
        file = files("porism.search.answers").joinpath(SHIPPED) if path is None else path
        raw = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
        raise PorismError(f"cannot be read as a model: {error}", where=where, fix=fix) from None
    if not all(isinstance(table, dict) and all(map(_is_weight, table.values())) for table in raw.values()):
        raise PorismError("not a table of weights", where=where, fix=fix)
    names = frozenset(f"{kind}.{name}" for kind in KINDS for name in feature_names())
    unknown = [found for kind in raw for name in raw[kind] if (found := f"{kind}.{name}") not in names]
    fix = "make a new one: porism model train ranking"
    if unknown:
        fact = f"names unknown features: {', '.join(unknown[:20])}"
        raise PorismError(fact, where=where, fix=fix + or_repair(FEATURES, plugin_features))
    if set(KINDS) - set(raw):
        raise PorismError("has no table for answers or questions", where=where, fix=fix)
    return Model(raw)


def _is_weight(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def save_model(model: Model, path: Path, remark: str) -> None:
    """Write a model as a readable table; weights of 0 are left out."""
    with atomic_file(path) as out:
        out.write("".join(f"# {line}\n" for line in remark.splitlines()))
        for kind in KINDS:
            out.write(f"\n[{kind}]\n")
            for name in feature_names():
                if (weight := round(model.weights[kind].get(name, 0.0), 3)) > 0:
                    out.write(f'"{name}" = {weight}\n')


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
        """Return one row a question or answer, one column a feature in the order of `all_features()`. Features are only
        added, so that the matrix of a number of features is made once."""
        key = (kind, len(self.values))
        if key in self._made:
            return self._made[key]
        features = all_features()
        matrix = np.zeros((len(self.batch.ids(kind)), len(features)), np.float32)
        for column, feature in enumerate(features):
            if feature.name not in self.values:
                continue
            own = self.values[feature.name]
            if kind == "questions":
                matrix[:, column] = own if feature.level == "thread" else 0.0
            else:
                matrix[:, column] = own if feature.level == "answer" else own[self.batch.thread_of_answer]
        self._made[key] = matrix
        return matrix

    def scales(self, kind: Kind, posts: int) -> Matrix:
        """Return the unit of each feature: its standard deviation over a number of posts. A post that is no candidate
        has the value 0. A deviation of 0 becomes 1. Views of a question are measured in the unit of the whole thread.
        For answers, a feature of formulas counts by the share of formulas in the query."""
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

    def best_threads(self, weights: Matrix, kind: Kind, number: int) -> Ints:
        """Return the positions of the threads with the best questions or answers by these weights, best first."""
        factors = weights / self.scales(kind, self.batch.context.count(kind))
        scores = self.matrix(kind)[: self.batch.ranked_count(kind)] @ factors
        order = np.argsort(-scores, kind="stable")
        threads = order if kind == "questions" else self.batch.thread_of_answer[order]
        first = np.unique(threads, return_index=True)[1]
        return np.asarray(threads[np.sort(first)[:number]])


@dataclass(frozen=True, slots=True)
class QueryScoring:
    """How the candidates of a query are scored: its context, the features in use, and a factor for each feature.

    A factor is a weight over the standard deviation of its feature; a score is the sum of factor x value."""

    context: QueryContext
    features: tuple[Feature, ...]
    factors: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRanking(Ranking):
    """A ranking with what further pages and explanations need of its query. It is small, so that many can be kept."""

    scoring: QueryScoring
    thread_count: int


@dataclass(frozen=True, eq=False)
class ScoredQuery:
    """A query with its candidates and all their features."""

    scoring: QueryScoring
    table: FeatureTable

    def scores(self, kind: Kind) -> Matrix:
        """Return the score of every question or answer of the batch."""
        scores: Matrix = self.table.matrix(kind) @ self.scoring.factors
        return scores

    def ranking(self, kind: Kind, allow: Filter | None = None) -> ScoredRanking:
        """Return all questions or answers with a positive score that a filter allows, best first."""
        batch, scores = self.table.batch, self.scores(kind)
        kept = scores > 0
        kept[batch.ranked_count(kind) :] = False
        if allow:
            posts = batch.documents.starts if kind == "questions" else batch.answer_posts
            kept &= allow.passes(batch.documents.years[posts], batch.documents.accepted[posts])
        found = Ranking.sorted(batch.ids(kind)[kept], scores[kept])
        return ScoredRanking(found.ids, found.scores, self.scoring, batch.thread_count)


class ChosenThreads(NamedTuple):
    """Numbers of threads: those that are ranked, a sample of the others, and how many a sampled thread counts for."""

    ranked: Ints
    sample: Ints = NO_THREADS
    sample_weight: float = 1.0


class HiddenText(NamedTuple):
    """Fields of a thread's question that count as empty in some families, so that they tell no answer."""

    thread: int
    fields: tuple[str, ...]
    families: tuple[str, ...] = FAMILIES


class FeatureReranker(Reranker):
    """Re-ranks threads, named by their questions; returns answers or questions by the weighted sum of features."""

    depth = MOST_THREADS

    def __init__(self, index: Index, model: Model, kind: Kind, ranked: int | None = None) -> None:
        """`ranked` is the number of candidates that are ranked, RERANKED unless another is given."""
        self._ranked = ranked
        self.index = index
        self.model = model
        self.kind: Kind = kind

    def __repr__(self) -> str:
        return f"FeatureReranker(kind={self.kind!r})"

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        """Return the answers or questions of the threads to which the ranked posts belong, best first."""
        found = self._threads(query, ranking)
        return self.score_threads(found.context, self.choose(found.numbers)).ranking(self.kind)

    def _threads(self, query: ReadQuery, ranking: Ranking) -> ThreadRanking:
        if isinstance(ranking, ThreadRanking):
            return ranking
        return ThreadRanking(self._threads_of(ranking.ids), QueryContext(query, self.index))

    def _threads_of(self, ids: Ints) -> Ints:
        threads = self.index.snapshot.locate(ids).threads
        return np.asarray(list(dict.fromkeys(threads[threads != UNKNOWN].tolist())), np.int64)

    def score(self, query: ReadQuery, ranking: Ranking, ids: Sequence[int]) -> Ranking:
        """Rank given posts by their scores in a search: what the search finds sets the units of the features."""
        found = self._threads(query, ranking)
        scoring = self.score_threads(found.context, self.choose(found.numbers)).scoring
        threads = self._threads_of(np.array(ids, np.int64))
        blocks = [threads[start : start + RERANKED] for start in range(0, len(threads), RERANKED)]
        scored = [self.score_more(scoring, block) for block in blocks]
        pairs = [(one.table.batch.ids(self.kind), one.scores(self.kind)) for one in scored]
        if not pairs:
            return Ranking.of({}).restricted(ids)
        posts, scores = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
        return Ranking.sorted(posts, scores).restricted(ids)

    def explain(self, query: ReadQuery, id: int, found: Callable[[], Ranking]) -> Explanation:
        """Explain the score of a post; the parts sum to it."""
        from porism.search.display.explain import explain_post, locate_post, query_parts

        ranked = self._threads(query, found())
        scoring = self.score_threads(ranked.context, self.choose(ranked.numbers)).scoring
        return explain_post(self, scoring, locate_post(self.index.snapshot, id), query_parts(ranked.context))

    def choose(self, threads: Ints, hidden: HiddenText | None = None) -> ChosenThreads:
        """Return those of the candidate threads, best first, that are fetched: those that are ranked, and SAMPLED
        others. The thread with hidden text is one of those that are ranked, the last."""
        number = self._ranked or RERANKED
        ranked, others = threads[:number], threads[number : self.depth]
        sample = others[:: max(1, -(-len(others) // SAMPLED))]
        weight = len(others) / len(sample) if len(sample) else 1.0
        if hidden:
            ranked = np.append(ranked[ranked != hidden.thread], hidden.thread)
            sample = sample[sample != hidden.thread]
        return ChosenThreads(ranked, sample, weight)

    def score_threads(
        self, context: QueryContext, threads: ChosenThreads, *, every: bool = False, hidden: HiddenText | None = None
    ) -> ScoredQuery:
        """Score threads by the features that have a weight, or by every feature (for training)."""
        weights = self.model.vector(self.kind)
        pairs = zip(all_features(), weights.tolist(), strict=True)
        features = [feature for feature, weight in pairs if every or weight > 0]
        table = FeatureTable(self._batch(context, threads, features, hidden), {})
        if len(table.batch.context.terms["words"]) and "words" in table.batch.documents.terms:
            best = float(table.batch.term_scores("words", "thread").max(initial=0.0))
            table.batch.context = table.batch.context.changed(best_match=best or 1.0)
        for stage in sorted({feature.stage for feature in features}):
            own = [feature for feature in features if feature.stage == stage]
            so_far = RankingSoFar(self.kind, table.values, partial(table.best_threads, weights))
            for feature in own:  # each name is prepared once
                prepared = table.batch.context.prepared
                if feature.prepares and feature.prepares not in prepared:
                    prepared = {**prepared, feature.prepares: feature.prepare(table.batch, so_far)}
                    table.batch.context = table.batch.context.changed(prepared=prepared)
            table.values.update(_values(own, table.batch))
        factors = weights / table.scales(self.kind, context.count(self.kind))
        return ScoredQuery(QueryScoring(table.batch.context, tuple(features), factors), table)

    def score_more(self, scoring: QueryScoring, threads: Ints) -> ScoredQuery:
        """Score further threads of a query that was scored before, by the same features and factors."""
        batch = self._batch(scoring.context, ChosenThreads(threads[:RERANKED]), scoring.features)
        return ScoredQuery(scoring, FeatureTable(batch, _values(scoring.features, batch)))

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
        views = QUESTION_VIEWS if self.index.is_forum else DOCUMENT_VIEWS
        views = ANSWER_VIEWS if self.kind == "answers" else views
        return CandidateBatch(context, documents, views, len(threads.ranked), threads.sample_weight)


def _values(features: Sequence[Feature], batch: CandidateBatch) -> dict[str, Matrix]:
    values: dict[str, Matrix] = {}
    for feature in features:
        check()
        values[feature.name] = feature.compute(batch)
    return values
