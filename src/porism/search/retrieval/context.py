"""What features read: a query with statistics (`QueryContext`), and a batch of candidates (`CandidateBatch`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from porism.analysis.schema import THREAD, View
from porism.search.formulas.overlap import BoundFormulas, SimilarFormulas, bound_formulas
from porism.search.index import ConceptMatch, Index
from porism.search.query import ReadQuery
from porism.search.retrieval.query_terms import (
    ANSWER_VIEWS,
    QueryTerms,
    ViewTable,
    concept_terms,
    contributions,
    encoder_texts,
    known_terms,
    query_terms,
    score_batch,
    view_table,
)
from porism.store.records import Threads
from porism.store.weighting import BM25, IDFS, TfIdfWeighting

Values = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
CONTEXTS_KEPT = 32
DEFAULT = BM25()
PRESENCE = BM25(k1=0.0)  # a term counts once, however often it occurs
USUAL_SHARE = 0.9  # of formulas in a whole question
PRIOR = 100.0  # weight x idf by which the usual share counts; a whole question has about 500


@dataclass(frozen=True)
class QueryContext:
    """A query against an index: its terms with statistics and its concepts. `prepared` has what features of later
    stages need of the ranking before them, by the names that they give it; `best_match` is the score of the thread that
    matches the words best, by which names are measured."""

    query: ReadQuery
    index: Index
    weighting: TfIdfWeighting = DEFAULT
    prepared: Mapping[str, Any] = field(default_factory=dict)
    best_match: float = 1.0

    @cached_property
    def _looked_up(self) -> list[dict[str, QueryTerms]]:
        return known_terms([query_terms(self.query), concept_terms(self.concepts)], self.index.snapshot, self.idf)

    @property
    def terms(self) -> dict[str, QueryTerms]:
        """The terms of the query by family."""
        return self._looked_up[0]

    @cached_property
    def concepts(self) -> list[ConceptMatch]:
        """The concepts that the query names or contains."""
        return self.index.concepts.matches(self.query) if self.query.expand else []

    @property
    def concept_terms(self) -> dict[str, QueryTerms]:
        """The terms that the concepts add."""
        return self._looked_up[1]

    @cached_property
    def bound_formulas(self) -> tuple[BoundFormulas, ...]:
        """The formulas of the collection that are most similar to those with wildcards of the query."""
        return bound_formulas(self.query, self.index.formulas)

    @property
    def unmatched(self) -> int:
        """How many formulas were not matched with those of the query for lack of time."""
        found: tuple[BoundFormulas, ...] = self.__dict__.get("bound_formulas", ())
        return sum(bound.unmatched for bound in found)

    @cached_property
    def encoded_query(self) -> Values | None:
        """The vector of the query by the encoder of the index; None without an encoder, or without text."""
        encoder = self.index.snapshot.learned.encoder
        texts = encoder_texts(self.query)
        return encoder.query(texts) if encoder and texts else None

    @cached_property
    def vector_names(self) -> frozenset[str]:
        """The vectors that threads can be compared by: those of terms, and of the encoder if it encodes the query."""
        learned = self.index.snapshot.learned
        encoded = learned.encoder.fields if learned.encoder and self.encoded_query is not None else ()
        return frozenset((*learned.vectors, *encoded))

    @cached_property
    def formula_share(self) -> float:
        """The share of formulas in the query, by weight x idf. Short queries are drawn towards the usual share."""
        formulas, words = (float(self.terms[family].scores.sum()) for family in ("tuples", "words"))
        return (formulas + PRIOR * USUAL_SHARE) / (formulas + words + PRIOR)

    def query_vector(self, family: str) -> Values:
        """Return the vector of the query's terms in a family."""
        terms = self.terms[family]
        return self.index.snapshot.learned.vectors[family].query(terms.keys, terms.weights)

    def idf(self, documents: Ints) -> Values:
        """Return the inverse document frequency of each term, given its number of threads."""
        idf = IDFS[self.weighting.idf]
        with np.errstate(divide="ignore"):  # a term that no thread has is not searched
            return np.asarray(idf(self.index.snapshot.info.count("thread"), documents.astype(np.float64)), np.float32)

    def count(self, kind: str) -> int:
        """Return how many questions or answers the index has."""
        return self.index.snapshot.info.count("question" if kind == "questions" else "answer")

    def changed(self, **fields: Any) -> QueryContext:
        """Return the same context with other fields; what was computed stays."""
        context = replace(self, **fields)
        context.__dict__.update({name: value for name, value in self.__dict__.items() if name not in fields})
        return context


class Contexts:
    """The contexts of recent queries, which the parts of a system share. Safe for concurrent use."""

    def __init__(self, index: Index, weighting: TfIdfWeighting = DEFAULT) -> None:
        self.index = index
        self._weighting = weighting
        self._kept: LRUCache[ReadQuery, QueryContext] = LRUCache(CONTEXTS_KEPT)
        self._lock = Lock()

    def of(self, query: ReadQuery) -> QueryContext:
        """Return the context of a query."""
        with self._lock:
            context = self._kept.get(query)
            if context is None:
                context = self._kept[query] = QueryContext(query, self.index, self._weighting)
            return context

    def forget(self, query: ReadQuery) -> None:
        """Compute the context again when the query is repeated."""
        with self._lock:
            self._kept.pop(query, None)


class BestSimilarities(NamedTuple):
    """The formulas that were compared with a batch, and for each of them the best similarity in every post."""

    similar: tuple[SimilarFormulas, ...]
    best: list[npt.NDArray[np.float64]]


class CandidateBatch:
    """Candidate threads with their documents, and the views in which terms are scored, once when a feature needs them.

    The threads from number `ranked` on are a sample of further candidates. They are not ranked: each counts for
    `sample_weight` threads in the standard deviations of the features."""

    def __init__(
        self,
        context: QueryContext,
        documents: Threads,
        views: Mapping[str, View] = ANSWER_VIEWS,
        ranked: int | None = None,
        sample_weight: float = 1.0,
    ) -> None:
        self.context = context
        self.documents = documents
        self.views = views
        self.ranked = len(documents.numbers) if ranked is None else ranked
        self.sample_weight = sample_weight
        self.answer_posts, self.thread_of_answer = documents.answers()
        self.compared: BestSimilarities | None = None
        self._thread_views = [name for name, view in views.items() if view.unit == "thread"]
        self._term_scores: dict[str, tuple[Values, Values]] = {}

    @property
    def thread_count(self) -> int:
        """How many threads there are."""
        return len(self.documents.numbers)

    def ids(self, kind: str) -> Ints:
        """Return the ids of the questions or answers, in the order of the feature values."""
        posts = self.documents.starts if kind == "questions" else self.answer_posts
        return self.documents.post_ids[posts]

    def ranked_count(self, kind: str) -> int:
        """Return how many questions or answers are ranked; they come before those of the sample."""
        return self.ranked if kind == "questions" else int(np.searchsorted(self.thread_of_answer, self.ranked))

    def term_scores(self, family: str, view: str) -> Values:
        """Return the score of the query's terms of a family in a view: for each answer in the view `answer`, for each
        thread in the others. It is 0 in a view that the batch does not have."""
        if family not in self._term_scores:
            views = [self.views[name] for name in self._thread_views]
            self._term_scores[family] = self._scores(self.context.terms[family], views)
        threads, posts_scores = self._term_scores[family]
        if view == "answer":
            return np.asarray(posts_scores[self.answer_posts])
        if view not in self._thread_views:
            return np.zeros(self.thread_count, np.float32)
        return np.asarray(threads[self._thread_views.index(view)])

    def thread_scores(self, terms: QueryTerms) -> Values:
        """Return the score of other terms (of concepts or feedback) in whole threads."""
        return np.asarray(self._scores(terms, [THREAD])[0][0])

    def presence(self, terms: QueryTerms, scores: Values, view: View) -> Values:
        """Return the sum of the scores of the terms that each thread has in a view, however often."""
        if not len(terms):
            return np.zeros(self.thread_count, np.float32)
        table = view_table(self.context.index.snapshot.info, terms.family, [view], PRESENCE)
        rows = self.documents.terms[terms.family]
        return np.asarray(score_batch(self.documents, rows, terms.keys, scores, table, table)[0][0])

    def _scores(self, terms: QueryTerms, views: Sequence[View]) -> tuple[Values, Values]:
        """Return the score of each thread in each view, and of each post as an answer; without terms 0, unread."""
        if not len(terms):
            nothing = np.zeros((len(views), self.thread_count), np.float32)
            return nothing, np.zeros(len(self.documents.post_ids), np.float32)
        threads, posts = self._table(terms, views), self._table(terms, [self.views["answer"]])
        rows = self.documents.terms[terms.family]
        return score_batch(self.documents, rows, terms.keys, terms.scores, threads, posts)

    def _table(self, terms: QueryTerms, views: Sequence[View]) -> ViewTable:
        return view_table(self.context.index.snapshot.info, terms.family, views, self.context.weighting)

    def contributions(self, terms: QueryTerms, view: View, candidate: Candidate) -> dict[int, float]:
        """Return what each term adds to the score of a candidate in a view, by the position of the term."""
        if not len(terms):
            return {}
        table = self._table(terms, [view])
        posts = candidate.posts(self, view)
        rows = self.documents.terms[terms.family]
        return contributions(rows, posts, terms.keys, terms.scores, table)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate of a batch: the position of its thread, and of its answer if it is one."""

    thread: int
    answer: int | None = None

    def posts(self, batch: CandidateBatch, view: View) -> range:
        """Return the posts of the batch that a view of the candidate covers."""
        if view.unit == "answer":
            post = -1 if self.answer is None else int(batch.answer_posts[self.answer])
            return range(post, post + 1) if post >= 0 else range(0)
        return range(int(batch.documents.starts[self.thread]), int(batch.documents.ends[self.thread]))
