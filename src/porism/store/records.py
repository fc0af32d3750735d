"""The values that a store and its readers exchange: what a snapshot is, terms, searches, hits, threads, posts and
formulas."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import Unit, View
from porism.corpus.post import Post, PostKind
from porism.store.weighting import BM25, ViewCounts, Weighting

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Values = npt.NDArray[np.float32]
DEFAULT_WEIGHTING = BM25()
UNKNOWN = -1  # the key of a term that no document contains, or the number of a document that is not there


# What a store may declare besides the required core: weightings other than BM25, searches over questions and answers,
# vectors of a model.
Option = Literal["weightings", "units", "vectors"]
OPTIONS: tuple[Option, ...] = ("weightings", "units", "vectors")


@dataclass(frozen=True)
class StoreInfo:
    """What a snapshot is: how many documents of each unit it has, and what it supports besides the required core. A
    snapshot without terms has content only."""

    address: str
    name: str
    generation: int
    fingerprint: str  # of the content
    counts: Mapping[Unit, int]
    lengths: Callable[[str, View], ViewCounts]  # the documents of a view and the sum of their lengths, by family
    options: frozenset[Option] = frozenset(OPTIONS)
    has_terms: bool = True
    has_links: bool = True  # links between questions, which tell their duplicates, are indexed

    def count(self, unit: Unit) -> int:
        """Return how many threads, questions, answers or distinct formulas there are."""
        return self.counts.get(unit, 0)


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a query: its family, its text, and its weight in the query."""

    family: str
    text: str
    weight: float = 1.0


class TermStatistics(NamedTuple):
    """For each requested term its key (UNKNOWN: no document contains it), and how many documents contain it."""

    keys: Ints
    documents: Ints


class Hits(NamedTuple):
    """Numbers of documents, best first; equal scores in the order of ids."""

    numbers: Ints
    scores: Floats


NO_HITS = Hits(np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True, slots=True)
class Filter:
    """Which posts a search may return: questions or answers, all of these tags, created in these years (inclusive), and
    of answers only accepted ones, of questions only those with an accepted answer. A thread is allowed if one of its
    posts is."""

    kind: PostKind = "answer"
    tags: tuple[str, ...] = ()
    years: tuple[int, int] | None = None
    accepted: bool = False

    def __bool__(self) -> bool:
        return bool(self.tags or self.years or self.accepted)

    def passes(self, years: npt.NDArray[Any], accepted: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which posts have an allowed year and acceptance; tags are checked by thread."""
        passed = np.ones(len(years), np.bool_)
        if self.years is not None:
            passed &= (years >= self.years[0]) & (years <= self.years[1])
        return passed & accepted if self.accepted else passed


@dataclass(frozen=True, slots=True)
class TermQuery:
    """Search the k documents of the view's unit with the largest sum of weights, among those that contain one of the
    terms and all the required ones. `allow` restricts the documents before the best are chosen."""

    terms: Sequence[Term]
    view: View
    k: int
    weighting: Weighting = DEFAULT_WEIGHTING
    allow: Filter | None = None
    required: Sequence[Term] = ()


@dataclass(frozen=True, slots=True)
class TextQuery:
    """Search those of some posts, named by their ids, that have all phrases, no excluded word, and one of the authors
    (by name or number). Title and body count, the title of an answer's question as well. The numbers of its hits are
    ids of posts, in the order given."""

    posts: Sequence[int]
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """Search the threads whose titles, questions or answers (`field`) have the nearest vectors to one."""

    field: str
    vector: Values
    k: int


Search = TermQuery | TextQuery | VectorQuery


def spread(starts: Ints, sizes: Ints) -> Ints:
    """Return all positions of spans: from each start on, as many as its size."""
    places: Ints = np.arange(int(sizes.sum())) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return places


class TermRows(NamedTuple):
    """The terms of a batch of posts in one family. The entries of post number i are those from starts[i] to ends[i]:
    the key of a term, the number of a field, and how often the term occurs there. Keys are in no order; a frequent term
    may have several entries. The arrays may hold more than these entries: families of a batch may share them."""

    starts: Ints
    ends: Ints
    keys: npt.NDArray[np.unsignedinteger[Any]]
    fields: npt.NDArray[np.uint8]
    counts: npt.NDArray[np.uint8]
    lengths: npt.NDArray[np.int32]  # of each post, by field

    def distinct(self) -> Ints:
        """Return the keys of all entries of the posts, ascending, each once. The arrays may hold entries of others."""
        spans = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        own = [self.keys[start:end] for start, end in spans]
        return np.unique(np.concatenate(own)).astype(np.int64) if own else np.empty(0, np.int64)

    def without(self, post: int, fields: Collection[int]) -> TermRows:
        """Return the same rows without some fields of a post."""
        keys, numbers, counts = self.keys.copy(), self.fields.copy(), self.counts.copy()
        ends, lengths = self.ends.copy(), self.lengths.copy()
        own = slice(int(self.starts[post]), int(self.ends[post]))
        kept = ~np.isin(numbers[own], list(fields))
        end = own.start + int(kept.sum())
        for column, before in ((keys, self.keys), (numbers, self.fields), (counts, self.counts)):
            column[own.start : end] = before[own][kept]
        ends[post] = end
        lengths[post, list(fields)] = 0
        return TermRows(self.starts, ends, keys, numbers, counts, lengths)


class TermLookup(Protocol):
    """What a store knows of the terms in records, by their keys. It comes with the records: no call."""

    def documents(self, family: str, keys: Ints) -> Ints:
        """Return how many threads contain each term."""

    def texts(self, family: str, keys: Ints) -> list[str]:
        """Return the terms themselves; of families other than words they may be empty."""

    def formulas(self, keys: Ints) -> Ints:
        """Return the numbers of formulas by their keys in posts, UNKNOWN for formulas that a search does not return."""


class Threads(NamedTuple):
    """A batch of threads in the order requested. Posts of a thread follow each other, the question first: those of
    thread number i are the posts from starts[i] to ends[i] of the batch. `terms` has the requested families, `vectors`
    the requested kinds: one row a thread, or one row an answer where answers are encoded."""

    numbers: Ints
    starts: Ints
    ends: Ints
    post_ids: Ints
    years: Ints  # of each post; 0 where the source does not say
    accepted: npt.NDArray[np.bool_]  # of each post: an accepted answer, or a question that has one
    terms: Mapping[str, TermRows]
    vectors: Mapping[str, Values]
    lookup: TermLookup

    def without(self, thread: int, fields: Collection[int], families: Collection[str]) -> Threads:
        """Return the same batch without some fields of the question of a thread (by position), in some families."""
        post = int(self.starts[thread])
        changed = {family: self.terms[family].without(post, fields) for family in families if family in self.terms}
        return self._replace(terms={**self.terms, **changed})

    def answers(self) -> tuple[Ints, Ints]:
        """Return the positions of all answers in the batch of posts, and for each the position of its thread."""
        sizes = self.ends - self.starts - 1
        return spread(self.starts + 1, sizes), np.repeat(np.arange(len(sizes)), sizes)


class ExpressionParts(Protocol):
    """Which of the requested sub-expressions the expressions of posts have. No call: it comes with the posts."""

    def of(self, expression: int) -> Sequence[int]:
        """Return the positions, in the request, of the sub-expressions that an expression of these posts has."""


class StoredPost(NamedTuple):
    """What a reader sees of a post: the post, the question of its thread, and whether it is the accepted answer."""

    post: Post
    question: Post
    accepted: bool


class StoredPosts(NamedTuple):
    """Posts in the order requested, and the sub-expressions of their formulas, those of their comments included."""

    posts: list[StoredPost]
    parts: ExpressionParts


class Positions(NamedTuple):
    """Where posts are: the number of the thread (UNKNOWN: no such post), and the position in it (0: the question)."""

    threads: Ints
    positions: Ints


class SymbolSequences(NamedTuple):
    """The symbols of formulas in reading order: formula i has those from `starts[i]` to `ends[i]`."""

    starts: Ints
    ends: Ints
    labels: npt.NDArray[np.int32]
    edges: npt.NDArray[np.uint8]


class PathRows(NamedTuple):
    """The paths in the operator trees of a batch of formulas: formula i has those from `starts[i]` to `ends[i]` of
    `above` (upper end), `keys` and `labels` (at the lower end), and `leaves[i]` leaves."""

    starts: Ints
    ends: Ints
    above: npt.NDArray[np.uint8]
    keys: npt.NDArray[np.uint32]
    labels: npt.NDArray[np.int32]
    leaves: npt.NDArray[np.int32]


class FormulaRecords(Protocol):
    """What else is stored of formulas, by their numbers. No call: it comes with them."""

    def trees(self, numbers: Ints) -> list[bytes]:
        """Return packed trees; `porism.formula.binary.unpack` reads them."""

    def latex(self, numbers: Ints) -> list[str]:
        """Return LaTeX."""

    def usage(self, numbers: Ints) -> TermStatistics:
        """Return the keys by which posts name formulas, and how many threads have each of them."""


class Formulas(NamedTuple):
    """A batch of distinct formulas in the order requested: both trees as symbol sequences, and paths."""

    numbers: Ints
    visual_ids: Ints
    layout: SymbolSequences
    operators: SymbolSequences
    paths: PathRows
    records: FormulaRecords
