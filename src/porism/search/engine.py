"""The engine: an opened index that finds answers, questions and formulas, and explains its hits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial, wraps
from pathlib import Path
from threading import Lock
from typing import Concatenate, ParamSpec, TypeVar, Unpack

import numpy as np
from cachetools import LRUCache

from porism.caching import CacheCounts, cached_method
from porism.corpus.content import Content
from porism.deadline import check
from porism.integrity import VERIFY, Verify
from porism.records import Explanation, Query
from porism.search import query as queries
from porism.search.answers.reranker import (
    FeatureReranker,
    FeatureTable,
    HiddenText,
    Model,
    ScoredQuery,
    ScoredRanking,
    load_model,
)
from porism.search.completion import Completer, Completions, suggestions
from porism.search.display.explain import MAX_HIGHLIGHTED_FORMULAS, QueryParts, explain_post, locate_post
from porism.search.display.highlight import Highlighter
from porism.search.display.page import HitPage, also_searched, formula_page, unmatched_notes
from porism.search.display.results import Extract, FormulaResults, Results
from porism.search.display.snippet import QueryMatches, SnippetBuilder
from porism.search.formulas.query import FAMILY, choose_readings
from porism.search.formulas.searcher import MODES, Mode
from porism.search.generation import answer_text
from porism.search.generation.endpoint import Endpoint
from porism.search.index import Frequencies, Index
from porism.search.query import KINDS, Kind, ReadQuery, read_query
from porism.search.reading.reader import QueryReader, QueryReading, TypedQuery
from porism.search.retrieval.candidates import MOST_THREADS, ThreadCandidates
from porism.search.retrieval.context import DEFAULT, Contexts
from porism.search.retriever import Ranking
from porism.store import explained, open_store
from porism.store.protocols import Snapshot, Store
from porism.store.records import Filter, StoredPost, TextQuery
from porism.store.weighting import TfIdfWeighting
from porism.text.typed.box import Box

MAX_READ = 1000  # best hits that are compared with phrases, excluded words and authors
QUERIES_KEPT = 32  # scored queries that are kept, so that page 2 and explanations of a query need no second search

P = ParamSpec("P")
T = TypeVar("T")


def _explain_damage(method: Callable[Concatenate[Engine, P], T]) -> Callable[Concatenate[Engine, P], T]:
    """Make a method report errors that come from damaged files as such."""

    @wraps(method)
    def wrapped(self: Engine, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with explained(self.store):
            return method(self, *args, **kwargs)

    return wrapped


class Engine:
    """An opened index. Many threads may use it at once."""

    def __init__(
        self,
        snapshot: Snapshot,
        model: Model | None = None,
        store: Store | None = None,
        *,
        adapt: bool = True,
        weighting: TfIdfWeighting = DEFAULT,
    ) -> None:
        """`store` is where the snapshot comes from, so that the engine can be refreshed. Without `adapt`, the factors
        of ranking that the collection chose do not count. `weighting` is how terms of posts are weighed."""
        self.store = store
        self.snapshot = snapshot
        self.index = index = Index(snapshot)
        self.model = model = model or load_model()
        self.endpoint: Endpoint | None = None
        self.name = snapshot.info.name
        self._adapt, self._weighting = adapt, weighting
        contexts = self._contexts = Contexts(index, weighting)
        self._candidates = ThreadCandidates(contexts)
        adapted = model.adapted(index.adaptation) if adapt else model
        self._rerankers = {kind: FeatureReranker(index, adapted, kind) for kind in KINDS}
        self.pipelines = {kind: self._candidates >> reranker for kind, reranker in self._rerankers.items()}
        self._kept: LRUCache[tuple[ReadQuery, Kind, Filter | None], ScoredRanking] = LRUCache(QUERIES_KEPT)
        self._restricted = cached_method(QUERIES_KEPT, self._restrict)
        self._matches = cached_method(QUERIES_KEPT, self._match)
        self.cache_counts = CacheCounts()
        self._lock = Lock()
        self._reader = QueryReader(index)

    @property
    def content(self) -> Content:
        """The posts as people read them."""
        return self.snapshot.content

    @classmethod
    def open(
        cls,
        address: str | Path,
        model: str | Path | None = None,
        verify: Verify = "quick",
        encoder: str | Path | None = None,
        weighting: TfIdfWeighting = DEFAULT,
    ) -> Engine:
        """Open an index by its address, or say what is wrong with it and what to run.

        `model` names a file that `porism model train ranking` made. `encoder` is where the model of the vectors of
        posts is now (by default, where it was when they were made), or "none" to search without them. `verify` says
        what is compared with its checksums before: "quick" the smaller files, "all" every file, "none" nothing but
        sizes. `weighting` is how terms of posts are weighed."""
        chosen = queries.check_choice(verify, "open", "verify", VERIFY)
        fitted = load_model(None if model is None else Path(model))
        store = open_store(address, chosen, encoder)
        with explained(store):
            return cls(store.snapshot(), fitted, store, weighting=weighting)

    def refresh(self) -> Engine:
        """Return an engine of the newest commit: this one if nothing has changed. An engine in use stays as it is."""
        if self.store is None or self.store.status().generation == self.snapshot.info.generation:
            return self
        engine = Engine(self.store.snapshot(), self.model, self.store, adapt=self._adapt, weighting=self._weighting)
        if engine.snapshot.learned.encoder and self.snapshot.learned.encoder:
            engine.snapshot.learned.encoder.adopt(self.snapshot.learned.encoder)
        engine.endpoint, engine.cache_counts = self.endpoint, self.cache_counts
        return engine

    @_explain_damage
    def search(
        self, query: str | Query, k: int = 10, kind: Kind = "answers", **options: Unpack[queries.SearchOptions]
    ) -> Results:
        """Return a page of the best answers or questions for words and formulas. `SearchOptions` lists the options.

        Operators narrow the query: `"exact phrase"`, `-excluded`, `tag:`, `user:`, `is:accepted`, `after:`,
        `before:`."""
        began = time.perf_counter()
        asked = queries.check_search(query, k, kind, options)
        read, box, reading = self._understood(asked.query, asked.as_words, asked.verbatim)
        read = read if asked.expand else replace(read, expand=False)
        kind = self._available(asked.kind)
        tags = tuple(dict.fromkeys((*asked.tags, *box.tags)))
        years, accepted = _common_years(asked.years, box.years), asked.accepted or box.accepted
        allow = Filter("question" if kind == "questions" else "answer", tags, years, accepted)
        shown = self.rank(read, kind, allow)
        context = shown.scoring.context
        ranking = self._restricted(read, kind, allow, box) if box.restricts_text else shown
        highlighter = self._highlighter(read)
        page = HitPage(self.snapshot, context, ranking, self._matches(read), highlighter, group=asked.group)
        hits = page.hits(asked.offset, asked.k, asked.sort)
        return Results(
            hits,
            page.count,
            time.perf_counter() - began,
            (*read.notes, *unmatched_notes(context.unmatched), *highlighter.notes),
            () if len(ranking) else suggestions(read, self.rank(read, kind), allow),
            len(ranking),
            also_searched(context),
            len(read.formulas),
            reading,
        )

    @_explain_damage
    def score(self, query: ReadQuery, kind: Kind, hidden: HiddenText | None = None) -> ScoredQuery:
        """Find and score the candidates of a query, without text that would tell which thread is right."""
        return self._scored(query, kind, hidden=hidden)

    def _scored(
        self, query: ReadQuery, kind: Kind, *, every: bool = False, hidden: HiddenText | None = None
    ) -> ScoredQuery:
        reranker = self._rerankers[kind]
        threads = reranker.choose(self._candidates.find(query, MOST_THREADS), hidden)
        return reranker.score_threads(self._contexts.of(query), threads, every=every, hidden=hidden)

    @_explain_damage
    def rank(self, query: ReadQuery, kind: Kind = "answers", allow: Filter | None = None) -> ScoredRanking:
        """Return all hits of a query that a filter allows, best first. The last queries are kept."""
        key = (query, kind, allow or None)
        with self._lock:
            known = self._kept.get(key)
            self.cache_counts.count(known is not None)
        if known is not None:
            return known
        if allow:
            return self._keep(key, self._filtered(query, kind, allow))
        found = self.pipelines[kind].rank(query)
        assert isinstance(found, ScoredRanking)
        return self._keep(key, found)

    def _keep(self, key: tuple[ReadQuery, Kind, Filter | None], ranked: ScoredRanking) -> ScoredRanking:
        if ranked.scoring.context.unmatched:  # for lack of time: the next time may be better
            self._contexts.forget(key[0])
            return ranked
        with self._lock:
            self._kept[key] = ranked
        return ranked

    @_explain_damage
    def features(self, query: ReadQuery, kind: Kind) -> FeatureTable:
        """Compute every feature of the candidates of a query, also those without a weight: what training needs."""
        return self._scored(query, kind, every=True).table

    def _filtered(self, query: ReadQuery, kind: Kind, allow: Filter) -> ScoredRanking:
        """Rank the candidates that a filter allows. The filter decides which posts are compared, not how they score."""
        reranker, key = self._rerankers[kind], (query, kind, None)
        with self._lock:
            whole = self._kept.get(key)
        filters = (allow,) if whole else (allow, None)
        found, *every = self._candidates.find_all(query, MOST_THREADS, filters)
        if whole is None:
            scored = reranker.score_threads(self._contexts.of(query), reranker.choose(every[0]))
            whole = self._keep(key, scored.ranking(kind))
        return reranker.score_more(whole.scoring, reranker.choose(found).ranked).ranking(kind, allow)

    def _restrict(self, query: ReadQuery, kind: Kind, allow: Filter, box: Box) -> Ranking:
        """Return the hits that the phrases, excluded words and authors of a query allow."""
        ranking = self.rank(query, kind, allow).top(MAX_READ)
        wanted = TextQuery(ranking.ids.tolist(), box.phrases, box.excluded, box.users)
        kept = np.isin(ranking.ids, self.snapshot.search([wanted])[0].numbers)
        return Ranking(ranking.ids[kept], ranking.scores[kept])

    def _available(self, kind: Kind) -> Kind:
        """Notes and books have no answers: a search for answers then returns the documents themselves."""
        return "questions" if kind == "answers" and not self.index.has_answers else kind

    @_explain_damage
    def formulas(self, latex: str, k: int = 10, mode: Mode = "similar", offset: int = 0) -> FormulaResults:
        """Return a page of distinct formulas that match one, with the posts that use them."""
        latex = queries.check_text(latex, "formulas", "latex", '"a^2+b^2=c^2"')
        k = queries.check_integer(k, "formulas", "k", least=1)
        offset = queries.check_integer(offset, "formulas", "offset", least=0, example=0)
        mode = queries.check_choice(mode, "formulas", "mode", MODES)
        return formula_page(self.index.formulas, self.content, latex, k, mode, offset)

    @_explain_damage
    def explain(self, query: str | Query, id: int) -> Explanation:
        """Explain the score of a post for a query; the parts sum to the score."""
        read = self.read(queries.check_query(query, "explain"))
        located = locate_post(self.snapshot, queries.check_integer(id, "explain", "id", example=754))
        scoring = self.rank(read, located.kind).scoring
        query_parts = QueryParts(self._matches(read).parts, self._highlighter(read))
        return explain_post(self._rerankers[located.kind], scoring, located, query_parts)

    @_explain_damage
    def highlights(self, query: str | Query, posts: Sequence[int]) -> SnippetBuilder:
        """Return what highlights the words and formulas of a query in some posts, as the page of a thread does."""
        read = self.read(queries.check_query(query, "highlights"))
        matches = self._matches(read)
        self._posts(posts, matches)
        return SnippetBuilder(matches, self._highlighter(read))

    def _posts(self, ids: Sequence[int], matches: QueryMatches) -> list[StoredPost]:
        """Read posts, and which of their formulas share parts with a query."""
        found = self.snapshot.posts(ids, matches.parts.terms)
        matches.parts.use(found.parts)
        return found.posts

    @_explain_damage
    def ask(self, query: str | Query, generate: bool = True) -> Extract:
        """Return the best passage with its source, at most 1,200 characters; written by a language model if there is
        one."""
        asking = self._asking(query)
        found = answer_text.best_passage(asking)
        if self.endpoint is None or not found.text or not queries.check_flag(generate, "ask", "generate"):
            return found
        check()
        return answer_text.generate_answer(self.endpoint, self._basis(query, asking, found))

    @_explain_damage
    def answer_basis(self, query: str | Query) -> answer_text.AnswerBasis:
        """Return what a language model needs to answer a question: the best passages, and the posts they come from."""
        asking = self._asking(query)
        return self._basis(query, asking, answer_text.best_passage(asking))

    def _asking(self, query: str | Query) -> answer_text.Asking:
        began = time.perf_counter()
        read = self.read(queries.check_query(query, "ask"))
        kind = self._available("answers")
        matches = self._matches(read)
        posts = self._posts(self.rank(read, kind).top(answer_text.MAX_POSTS).ids.tolist(), matches)
        return answer_text.Asking(posts, SnippetBuilder(matches, self._highlighter(read)), read.notes, began)

    def _basis(self, query: str | Query, asking: answer_text.Asking, extract: Extract) -> answer_text.AnswerBasis:
        question = query if isinstance(query, str) else f"{query.title} {query.text}".strip()
        return answer_text.AnswerBasis(question, extract, answer_text.best_passages(asking))

    @_explain_damage
    def complete(self, typed: str, k: int = 8) -> Completions:
        """Return titles, tags and formulas that continue what is typed."""
        typed = queries.check_text(typed, "complete", "typed", '"pythagorean"')
        return self._completer.complete(typed, queries.check_integer(k, "complete", "k", least=1))

    @cached_property
    def _completer(self) -> Completer:
        return Completer(self.content)

    @_explain_damage
    def read(self, query: str | Query) -> ReadQuery:
        """Return a query as the engine understands it."""
        return self._understood(query).read

    def _understood(self, query: str | Query, as_words: bool = False, verbatim: bool = False) -> TypedQuery:
        """Read a typed query, or a whole post, which has no operators and whose wording stays."""
        if isinstance(query, str):
            return self._reader.read(query, as_words, verbatim)
        read = read_query(query.title or query.text, query.text if query.title else "", query.tags)
        chosen = choose_readings(read, partial(Frequencies(self.snapshot).documents, FAMILY))
        return TypedQuery(chosen, Box(""), QueryReading())

    def _match(self, query: ReadQuery) -> QueryMatches:
        """Return what finds the words and formulas of a query in texts; the pages of a query share it."""
        return QueryMatches(self._contexts.of(query).terms, [formula.parsed for formula in query.formulas])

    def _highlighter(self, query: ReadQuery) -> Highlighter:
        formulas = [formula.parsed for formula in query.formulas]
        return Highlighter(formulas, self.index.formulas.symbols, MAX_HIGHLIGHTED_FORMULAS, self._matches(query).parts)


def _common_years(first: tuple[int, int] | None, second: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return the years that both spans contain; None for all years."""
    if first is None or second is None:
        return first or second
    return max(first[0], second[0]), min(first[1], second[1])
