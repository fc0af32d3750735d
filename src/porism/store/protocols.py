"""What search reads and writes, wherever it is kept: `Store`, `Snapshot`, `Writer`, and the values that they exchange.

A snapshot answers a query in a handful of calls, each of which names many items: `statistics`, `search`, `threads`, `formulas`, `posts`, and
`locate` for posts that somebody else found. `docs/why/store.md` says what each of them costs in an embedded store and in a search cluster.

Keys of terms and numbers of documents are the store's own integers. They are valid within one snapshot; above the store nobody computes with
them, they are compared and given back. `porism.store.conformance` checks an implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from porism.analysis.concepts import Concept
from porism.analysis.schema import Unit, View
from porism.analysis.vocabulary import Vocabulary
from porism.corpus.content import Content
from porism.corpus.post import Post, PostKind
from porism.store.weighting import BM25, ViewCounts, Weighting

if TYPE_CHECKING:
    from porism.corpus.sources.raw import Dropped, RawLink, Record, Source
    from porism.corpus.update.changes import Changes
    from porism.corpus.update.delta import Delta
    from porism.integrity import StoredFile, Verification
    from porism.progress import Progress

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Values = npt.NDArray[np.float32]
DEFAULT_WEIGHTING = BM25()
UNKNOWN = -1  # the key of a term that no document contains, or the number of a document that is not there

# What a store may declare besides the required core: weightings other than BM25, searches over questions and answers, vectors of a model.
Option = Literal["weightings", "units", "vectors"]
OPTIONS: tuple[Option, ...] = ("weightings", "units", "vectors")


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a query: its family, its text, and its weight in the query."""

    family: str
    text: str
    weight: float = 1.0


class TermStatistics(NamedTuple):
    """For each requested term: its key (UNKNOWN if no document contains it), and the number of documents that contain it."""

    keys: Ints
    documents: Ints


class Hits(NamedTuple):
    """Numbers of documents, best first; equal scores in the order of ids."""

    numbers: Ints
    scores: Floats


NO_HITS = Hits(np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True, slots=True)
class Filter:
    """Which posts a search may return: questions or answers, all of these tags, created in these years (inclusive), and of answers only
    accepted ones, of questions only those with an accepted answer. A thread is allowed if one of its posts is."""

    kind: PostKind = "answer"
    tags: tuple[str, ...] = ()
    years: tuple[int, int] | None = None
    accepted: bool = False

    def __bool__(self) -> bool:
        return bool(self.tags or self.years or self.accepted)

    def passes(self, years: npt.NDArray[Any], accepted: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which posts, by their attributes, have an allowed year and acceptance; tags belong to threads and are checked there."""
        passed = np.ones(len(years), np.bool_)
        if self.years is not None:
            passed &= (years >= self.years[0]) & (years <= self.years[1])
        return passed & accepted if self.accepted else passed


@dataclass(frozen=True, slots=True)
class TermQuery:
    """Search the k documents of the view's unit with the largest sum of weights, among those that contain one of the terms and all the required
    ones. `allow` restricts the documents before the best are chosen."""

    terms: Sequence[Term]
    view: View
    k: int
    weighting: Weighting = DEFAULT_WEIGHTING
    allow: Filter | None = None
    required: Sequence[Term] = ()


@dataclass(frozen=True, slots=True)
class TextQuery:
    """Search those of some posts, named by their ids, that have all phrases, no excluded word, and one of the authors (by name or number). Title and body
    count, the title of an answer's question as well. The numbers of its hits are ids of posts, in the order given."""

    posts: Sequence[int]
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """Search the threads whose questions (or titles, or answers: `field`) have vectors by the store's model that are nearest to one."""

    field: str
    vector: Values
    k: int


Search = TermQuery | TextQuery | VectorQuery


class TermRows(NamedTuple):
    """The terms of a batch of posts in one family. The entries of post number i are those from starts[i] to ends[i]: the key of a term, the number
    of a field, and how often the term occurs there. Keys are in no order; a frequent term may have several entries. The arrays may hold
    more than these entries: families of a batch may share them."""

    starts: Ints
    ends: Ints
    keys: npt.NDArray[np.unsignedinteger[Any]]
    fields: npt.NDArray[np.uint8]
    counts: npt.NDArray[np.uint8]
    lengths: npt.NDArray[np.int32]  # of each post, by field

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
    """What a store knows of the terms in records, by their keys. No call: it comes with the records, or from a table that is read once."""

    def documents(self, family: str, keys: Ints) -> Ints:
        """Return how many threads contain each term."""
        ...

    def texts(self, family: str, keys: Ints) -> list[str]:
        """Return the terms themselves; of families other than words they may be empty."""
        ...

    def formulas(self, keys: Ints) -> Ints:
        """Return the numbers of formulas by the keys with which posts name them, UNKNOWN for formulas that a search does not return."""
        ...


class Threads(NamedTuple):
    """A batch of threads in the order requested. Posts of a thread follow each other, the question first: those of thread number i are
    the posts from starts[i] to ends[i] of the batch. `terms` has the requested families, `vectors` the requested kinds: one row a thread, or one
    row an answer where answers are encoded."""

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
        """Return the same batch without some fields, by number, of the question of a thread, by its position, in some families."""
        post = int(self.starts[thread])
        changed = {family: self.terms[family].without(post, fields) for family in families if family in self.terms}
        return self._replace(terms={**self.terms, **changed})

    def answers(self) -> tuple[Ints, Ints]:
        """Return the positions of all answers in the batch of posts, and for each the position of its thread."""
        sizes = self.ends - self.starts
        thread_of = np.repeat(np.arange(len(sizes)), sizes - 1)
        within = np.arange(len(thread_of)) - np.repeat(np.cumsum(sizes - 1) - (sizes - 1), sizes - 1)
        return self.starts[thread_of] + 1 + within, thread_of


class ExpressionParts(Protocol):
    """Which of the requested sub-expressions the expressions of posts have. No call: it comes with the posts."""

    def of(self, expression: int) -> Sequence[int]:
        """Return the positions, in the request, of the terms of sub-expressions that an expression has."""
        ...


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
    """Where posts are: the number of the thread of each (UNKNOWN if there is no such post), and the position in it (0: the question)."""

    threads: Ints
    positions: Ints


class SymbolSequences(NamedTuple):
    """The symbols of a batch of formulas in reading order: formula i has those from `starts[i]` to `ends[i]` of `labels` and `edges`."""

    starts: Ints
    ends: Ints
    labels: npt.NDArray[np.int32]
    edges: npt.NDArray[np.uint8]


class PathRows(NamedTuple):
    """The paths in the operator trees of a batch of formulas: formula i has those from `starts[i]` to `ends[i]` of `above` (upper end),
    `keys` and `labels` (at the lower end), and `leaves[i]` leaves."""

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
        ...

    def latex(self, numbers: Ints) -> list[str]:
        """Return LaTeX."""
        ...

    def usage(self, numbers: Ints) -> TermStatistics:
        """Return the keys by which posts name formulas, and how many threads have each of them."""
        ...


class Formulas(NamedTuple):
    """A batch of distinct formulas in the order requested: layout trees and operator trees as symbol sequences, and paths."""

    numbers: Ints
    visual_ids: Ints
    layout: SymbolSequences
    operators: SymbolSequences
    paths: PathRows
    records: FormulaRecords


class SymbolTable(Protocol):
    """What is known of the symbols of all formulas. A label (`V!x`, `O!plus`) has an id and a weight for each of the two trees."""

    @property
    def labels(self) -> Mapping[str, int]:
        """The id of each label, from 0 on."""
        ...

    @property
    def layout_weights(self) -> Floats:
        """The weight of each label in layout trees, by id."""
        ...

    @property
    def operator_weights(self) -> Floats:
        """The weight of each label in operator trees, by id."""
        ...

    @property
    def unseen_label_weight(self) -> float:
        """The weight of a label that no formula has."""
        ...

    def inverse_path_frequency(self, keys: npt.NDArray[np.uint32]) -> Floats:
        """Return ln(all path groups / path groups with this key) for each key. An unseen key counts as seen once."""
        ...


class VectorBasis(Protocol):
    """Turns the terms of a query into a vector."""

    def query(self, keys: Ints, weights: Values) -> Values:
        """Return the vector of terms by their keys and weights."""
        ...


class Encoder(Protocol):
    """The model that made the vectors of posts."""

    @property
    def name(self) -> str:
        """The name of the model."""
        ...

    @property
    def digest(self) -> str:
        """The digest of the model."""
        ...

    def as_dict(self) -> dict[str, Any]:
        """Return what a record of a run says of the model."""
        ...

    @property
    def fields(self) -> tuple[str, ...]:
        """The encoded fields: titles, questions, answers."""
        ...

    def query(self, texts: Sequence[str]) -> Values:
        """Return the vector of a query with these texts."""
        ...

    def adopt(self, other: Encoder) -> None:
        """Use the model of another encoder if it is loaded already and the same."""
        ...


@dataclass(frozen=True)
class Learned:
    """What an index learned from its collection: small, and read when the snapshot is opened."""

    symbols: SymbolTable
    concepts: Sequence[Concept] = ()
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    vectors: Mapping[str, VectorBasis] = field(default_factory=dict)
    ranking: str = ""  # the factors of ranking that the collection chose
    encoder: Encoder | None = None


@dataclass(frozen=True)
class StoreInfo:
    """What a snapshot is: how many documents of each unit it has, and what it supports besides the required core. A snapshot without terms has
    content only."""

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


class Snapshot(Protocol):
    """One generation of a store. It does not change while somebody reads it, and many threads may read it. `seconds` limits the time of a call,
    which then raises `porism.deadline.TimeLimitExceeded`."""

    @property
    def info(self) -> StoreInfo:
        """What the snapshot is."""
        ...

    @property
    def learned(self) -> Learned:
        """What was learned from the collection."""
        ...

    @property
    def content(self) -> Content:
        """What people read: posts, threads, titles, authors, pictures."""
        ...

    def statistics(
        self, terms: Sequence[Term], unit: Unit = "thread", *, seconds: float | None = None
    ) -> TermStatistics:
        """Return the statistics of many terms over threads or distinct formulas; a term's weight does not matter."""
        ...

    def search(self, searches: Sequence[Search], *, seconds: float | None = None) -> list[Hits]:
        """Answer several searches at once."""
        ...

    def threads(
        self, numbers: Ints, families: Collection[str], vectors: Collection[str] = (), *, seconds: float | None = None
    ) -> Threads:
        """Return threads with the terms of these families and vectors of these kinds: what ranking reads of candidates."""
        ...

    def formulas(self, numbers: Ints, *, seconds: float | None = None) -> Formulas:
        """Return distinct formulas: what ranking, matching and pages read of candidates."""
        ...

    def posts(self, ids: Sequence[int], parts: Sequence[str] = (), *, seconds: float | None = None) -> StoredPosts:
        """Return posts by their ids, and which of some sub-expressions, given as terms, their formulas have."""
        ...

    def locate(self, ids: Ints, *, seconds: float | None = None) -> Positions:
        """Return where posts are that somebody else found."""
        ...


class LogPosition(NamedTuple):
    """A record of a change log: the id of the log, and the number of the record. Number 0 is before the first one."""

    log: str = ""
    sequence: int = 0


@dataclass(frozen=True)
class StoreStatus:
    """What the newest generation of a store is: the digest of its content, the number of its parts (segments), its bytes, when it was committed
    (seconds since 1970), the last record of a change log that it has, the model of its vectors (its digest) and its ranking."""

    generation: int
    fingerprint: str
    parts: int
    bytes: int
    committed: float
    log_position: LogPosition
    counts: Mapping[str, int]
    encoder: str = ""
    ranking: str = ""
    format: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)  # with links, with vectors


class Writer(Protocol):
    """Changes a store. Use it in a `with` statement; changes that are not committed are dropped."""

    changes: Changes  # that the next commit makes

    def __enter__(self) -> Writer: ...

    def __exit__(self, *error: Any) -> None: ...

    @property
    def log_position(self) -> LogPosition:
        """The last record of a change log that the store has."""
        ...

    def put(self, records: Iterable[Record]) -> None:
        """Add posts, comments, links and users; a record replaces the one with its id."""
        ...

    def delete(self, posts: Iterable[int]) -> None:
        """Delete posts: an answer, or a question with its answers. Unknown ids are ignored."""
        ...

    def delete_comments(self, comments: Iterable[int]) -> None:
        """Delete comments. Unknown ids are ignored."""
        ...

    def delete_links(self, links: Iterable[RawLink]) -> None:
        """Delete links between questions."""
        ...

    def compare(self, source: Source, delete_many: bool = False) -> list[Dropped]:
        """Prepare the changes that bring the store to the state of a source; return what of the source is left out. `delete_many`: delete the posts
        that a dump lacks even if they are most of them."""
        ...

    def commit(self, position: LogPosition | None = None) -> Delta:
        """Make the changes visible to snapshots that are opened from now on; return what changed. `position` is the last record of a change
        log that the changes come from; it is stored with them, so that no record is applied twice."""
        ...


class Store(Protocol):
    """Where an index is kept. `porism.store.open_store` opens it by its address."""

    @property
    def address(self) -> str:
        """The address by which it was opened."""
        ...

    def snapshot(self) -> Snapshot:
        """Open the newest generation."""
        ...

    def status(self) -> StoreStatus:
        """Return what the newest generation is, without opening it."""
        ...

    def version(self) -> object:
        """Return something that differs when there may be a newer generation; it takes no time to look."""
        ...

    def maintain(self, everything: bool = False, progress: Progress | None = None) -> bool:
        """Do what a store needs after many commits, such as a merge; `everything`: all of it. Return whether there was anything to do."""
        ...

    def files(self) -> list[StoredFile]:
        """Return the files of the store on this machine; none for a store elsewhere."""
        ...

    def verify(self, progress: Progress | None = None) -> list[Verification]:
        """Read everything, and return what is damaged."""
        ...

    def record_ranking(self, text: str) -> None:
        """Store the factors of ranking that the collection chose, as a new generation where they differ from the present ones."""
        ...

    def writer(self, source: str = "update", wait: float = 0.0) -> Writer:
        """Return a writer. New posts name `source` as their origin; `wait`: seconds to wait for another writer."""
        ...
