"""Searches by terms, and candidate threads: the union of several searches, as each finds what the others miss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import EVERY_FIELD, NAME_FAMILY, THREAD, VISUAL_FAMILY, View
from porism.analysis.terms import EncodedField
from porism.evaluate.fusion import ScoredIds
from porism.search.fusion import RRF, Fusion
from porism.search.index import Index
from porism.search.query import ReadQuery
from porism.search.retrieval.context import PRESENCE, Contexts, QueryContext
from porism.search.retrieval.query_terms import CONCEPT_FAMILIES
from porism.search.retriever import Ranking, Retriever
from porism.store.records import Filter, Search, Term, TermQuery, VectorQuery
from porism.store.weighting import BM25, Weighting

Ints = npt.NDArray[np.int64]
STRONGEST = 60  # terms of each family, by weight x idf, that are searched
MOST_POSTINGS = 1_000_000  # threads in the lists of a search; the longest lists, of frequent terms, are left out first


@dataclass(frozen=True, slots=True)
class TermSearch:
    """Search the query's strongest terms of some families together, or with `concepts` those that its concepts add."""

    families: tuple[str, ...]
    weighting: Weighting | None = None  # by default, that of the context
    view: View | None = None  # by default, that of the index
    concepts: bool = False

    def query(self, context: QueryContext, k: int, allow: Filter | None = None) -> TermQuery:
        """Return the search for the best k threads, or answers if that is the view's unit."""
        terms = context.concept_terms if self.concepts else context.terms
        strongest = [terms[family].strongest(STRONGEST) for family in self.families]
        searched = [term for found in strongest for term in found.to_search()]
        kept = bounded(np.concatenate([found.documents for found in strongest])) if searched else []
        view = self.view or context.index.view
        return TermQuery([searched[at] for at in kept], view, k, self.weighting or context.weighting, allow)


def bounded(lists: npt.NDArray[np.int64], most: int = MOST_POSTINGS) -> list[int]:
    """Return the positions, in order, of the shortest lists that have at most `most` entries in all; at least one."""
    shortest = np.argsort(lists, kind="stable")
    number = max(1, int(np.searchsorted(np.cumsum(lists[shortest]), most, side="right")))
    positions: list[int] = np.sort(shortest[:number]).tolist()
    return positions


SOURCES = (
    TermSearch(("words", "pairs")),
    TermSearch(("tuples", "paths")),
    TermSearch(("parts",)),
    TermSearch(CONCEPT_FAMILIES, concepts=True),
    TermSearch((NAME_FAMILY,), PRESENCE, EVERY_FIELD),
)
ENCODED_SOURCES: tuple[EncodedField, ...] = ("questions",)  # fields of the vectors of posts that give candidates
DEPTH = 1000  # threads of each source
MOST_THREADS = DEPTH * len(SOURCES)  # the largest number of candidates, whatever the size of the collection


class ThreadRanking(Ranking):
    """Threads by their numbers in a snapshot, best first, and the context of the query that found them. Re-rankers that
    know threads read the numbers; the ids, those of the questions, are read from the store only if somebody needs
    them."""

    def __init__(self, numbers: Ints, context: QueryContext) -> None:
        self.__dict__.update(numbers=numbers, context=context)

    numbers: Ints
    context: QueryContext

    @cached_property
    def ids(self) -> Ints:
        """The ids of the questions."""
        threads = self.context.index.snapshot.threads(self.numbers, ())
        return np.asarray(threads.post_ids[threads.starts])

    @cached_property
    def scores(self) -> npt.NDArray[np.float64]:
        """Reciprocal ranks."""
        return 1.0 / np.arange(1.0, len(self.numbers) + 1)

    def __len__(self) -> int:
        return len(self.numbers)


class ThreadCandidates(Retriever):
    """Find candidate threads, identified by their questions."""

    def __init__(
        self,
        contexts: Contexts,
        sources: Sequence[TermSearch] = SOURCES,
        fusion: Fusion | None = None,
        encoded: bool = False,
    ) -> None:
        """`encoded` says whether vectors of posts, where the index has them, are a source."""
        self._encoded = encoded
        self._contexts = contexts
        self._sources = sources
        self._fusion = fusion or RRF()

    def find(self, query: ReadQuery, k: int, allow: Filter | None = None) -> Ints:
        """Return the numbers of the best k threads of all sources together."""
        return self.find_all(query, k, (allow,))[0]

    def find_all(self, query: ReadQuery, k: int, filters: Sequence[Filter | None]) -> list[Ints]:
        """Return the best threads under each of several filters, found in one call."""
        context = self._contexts.of(query)
        searches: list[list[Search]] = []
        for allow in filters:
            own = [source.query(context, DEPTH, allow) for source in self._sources]
            nearest = _nearest(context, allow) if self._encoded else []
            searches.append([*own, *_bound(context, allow), *nearest])
        hits = iter(self._contexts.index.snapshot.search([one for own in searches for one in own]))
        found = [[next(hits) for _ in own] for own in searches]
        return [self._fusion.fuse([ScoredIds(*one) for one in own]).ids[:k] for own in found]

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k threads of all sources together; scores are reciprocal ranks."""
        return ThreadRanking(self.find(query, k), self._contexts.of(query))


def _bound(context: QueryContext, allow: Filter | None) -> list[Search]:
    """Return the search for threads with formulas to which wildcards bind: no term of the query finds them."""
    if not any(formula.has_wildcards for formula in context.query.formulas):
        return []
    ids = dict.fromkeys(number for found in context.bound_formulas for number in found.visual_ids)
    terms = [Term(VISUAL_FAMILY, str(number)) for number in ids]
    return [TermQuery(terms, EVERY_FIELD, DEPTH, PRESENCE, allow)] if terms else []


def _nearest(context: QueryContext, allow: Filter | None) -> list[Search]:
    """Return the searches for questions with vectors near to the query's; none with a filter, which needs terms."""
    encoder, query = context.index.snapshot.learned.encoder, None if allow else context.encoded_query
    if encoder is None or query is None:
        return []
    return [VectorQuery(field, query, DEPTH) for field in ENCODED_SOURCES if field in encoder.fields]


class TermRetriever(Retriever):
    """Ranks threads (named by their questions) or answers, as the view says, by the weights of query terms."""

    def __init__(
        self, index: Index, families: Sequence[str], weighting: Weighting | None = None, view: View = THREAD
    ) -> None:
        self._index = index
        self._unit = view.unit
        self._search = TermSearch(tuple(families), weighting or BM25(), view)

    def __repr__(self) -> str:
        search = self._search
        return f"TermRetriever({list(search.families)}, {search.weighting}, {self._unit} view)"

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k posts."""
        snapshot = self._index.snapshot
        found = snapshot.search([self._search.query(QueryContext(query, self._index), k)])[0]
        if self._unit != "thread":
            return Ranking(found.numbers, found.scores)
        threads = snapshot.threads(found.numbers, ())
        return Ranking(threads.post_ids[threads.starts], found.scores)
