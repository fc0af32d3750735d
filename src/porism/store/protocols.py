"""What search reads and writes, wherever it is kept: `Store`, `Snapshot`, `Writer`, and the values that they exchange.

A snapshot answers a query in a handful of calls, each of which names many items: `statistics`, `search`, `threads`,
`formulas`, `posts`, and `locate` for posts that somebody else found. `docs/why/store.md` says what each of them costs
in an embedded store and in a search cluster.

Keys of terms and numbers of documents are the store's own integers. They are valid within one snapshot; above the store
nobody computes with them, they are compared and given back. `porism.store.conformance` checks an implementation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from porism.analysis.learned import Concept, Vocabulary
from porism.analysis.schema import Unit
from porism.corpus.content import Content
from porism.store.records import (
    Floats,
    Formulas,
    Hits,
    Ints,
    Positions,
    Search,
    StoredPosts,
    StoreInfo,
    Term,
    TermStatistics,
    Threads,
    Values,
)

if TYPE_CHECKING:
    from porism.corpus.sources.raw import Dropped, RawLink, Record, Source
    from porism.corpus.update.changes import Changes
    from porism.corpus.update.delta import Delta
    from porism.integrity import StoredFile, Verification
    from porism.progress import Progress


class IndexOptions(NamedTuple):
    """What an index has: links between questions, with titles of linked questions and comments that point to other
    questions; and vectors that are learned from the collection."""

    links: bool = True
    vectors: bool = True


WITH_ALL = IndexOptions()


class SymbolTable(Protocol):
    """What is known of the symbols of all formulas. Labels (`V!x`, `O!plus`) have an id, and a weight for each tree."""

    @property
    def labels(self) -> Mapping[str, int]:
        """The id of each label, from 0 on."""

    @property
    def layout_weights(self) -> Floats:
        """The weight of each label in layout trees, by id."""

    @property
    def operator_weights(self) -> Floats:
        """The weight of each label in operator trees, by id."""

    @property
    def unseen_label_weight(self) -> float:
        """The weight of a label that no formula has."""

    def inverse_path_frequency(self, keys: npt.NDArray[np.uint32]) -> Floats:
        """Return ln(all path groups / path groups with this key) for each key. An unseen key counts as seen once."""


class VectorBasis(Protocol):
    """Turns the terms of a query into a vector."""

    def query(self, keys: Ints, weights: Values) -> Values:
        """Return the vector of terms by their keys and weights."""


class Encoder(Protocol):
    """The model that made the vectors of posts."""

    @property
    def name(self) -> str:
        """The name of the model."""

    @property
    def digest(self) -> str:
        """The digest of the model."""

    def as_dict(self) -> dict[str, Any]:
        """Return what a record of a run says of the model."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The encoded fields: titles, questions, answers."""

    def query(self, texts: Sequence[str]) -> Values:
        """Return the vector of a query with these texts."""

    def adopt(self, other: Encoder) -> None:
        """Use the model of another encoder if it is loaded already and the same."""


@dataclass(frozen=True)
class Learned:
    """What an index learned from its collection: small, and read when the snapshot is opened."""

    symbols: SymbolTable
    concepts: Sequence[Concept] = ()
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    vectors: Mapping[str, VectorBasis] = field(default_factory=dict)
    ranking: str = ""  # the factors of ranking that the collection chose
    encoder: Encoder | None = None


class Snapshot(Protocol):
    """One generation of a store. It does not change while somebody reads it, and many threads may read it. A call may
    take `seconds`, and in any case no longer than `porism.deadline` leaves the thread; then it raises
    `TimeLimitExceeded`. `porism.deadline.call_limit` applies both."""

    @property
    def info(self) -> StoreInfo:
        """What the snapshot is."""

    @property
    def learned(self) -> Learned:
        """What was learned from the collection."""

    @property
    def content(self) -> Content:
        """What people read: posts, threads, titles, authors, pictures."""

    def statistics(
        self, terms: Sequence[Term], unit: Unit = "thread", *, seconds: float | None = None
    ) -> TermStatistics:
        """Return the statistics of many terms over threads or distinct formulas; a term's weight does not matter."""

    def search(self, searches: Sequence[Search], *, seconds: float | None = None) -> list[Hits]:
        """Answer several searches at once."""

    def threads(
        self, numbers: Ints, families: Collection[str], vectors: Collection[str] = (), *, seconds: float | None = None
    ) -> Threads:
        """Return threads with the terms of these families and vectors of these kinds, as ranking reads them."""

    def formulas(self, numbers: Ints, *, seconds: float | None = None) -> Formulas:
        """Return distinct formulas: what ranking, matching and pages read of candidates."""

    def posts(self, ids: Sequence[int], parts: Sequence[str] = (), *, seconds: float | None = None) -> StoredPosts:
        """Return posts by their ids, and which of some sub-expressions, given as terms, their formulas have."""

    def locate(self, ids: Ints, *, seconds: float | None = None) -> Positions:
        """Return where posts are that somebody else found."""


class LogPosition(NamedTuple):
    """A record of a change log: the id of the log, and the number of the record. Number 0 is before the first one."""

    log: str = ""
    sequence: int = 0


@dataclass(frozen=True)
class StoreStatus:
    """What the newest generation of a store is: the digest of its content, the number of its parts (segments), its
    bytes, when it was committed (seconds since 1970), the last record of a change log that it has, the model of its
    vectors (its digest) and its ranking."""

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

    def put(self, records: Iterable[Record]) -> None:
        """Add posts, comments, links and users; a record replaces the one with its id."""

    def delete(self, posts: Iterable[int]) -> None:
        """Delete posts: an answer, or a question with its answers. Unknown ids are ignored."""

    def delete_comments(self, comments: Iterable[int]) -> None:
        """Delete comments. Unknown ids are ignored."""

    def delete_links(self, links: Iterable[RawLink]) -> None:
        """Delete links between questions."""

    def compare(self, source: Source, delete_many: bool = False) -> list[Dropped]:
        """Prepare the changes that bring the store to the state of a source; return what of the source is left out.
        `delete_many`: delete the posts that a dump lacks even if they are most of them."""

    def commit(self, position: LogPosition | None = None) -> Delta:
        """Make the changes visible to snapshots that are opened from now on; return what changed. `position` is the
        last record of a change log that the changes come from; it is stored with them, so that no record is applied
        twice."""


class Store(Protocol):
    """Where an index is kept. `porism.store.open_store` opens it by its address."""

    @property
    def address(self) -> str:
        """The address by which it was opened."""

    def snapshot(self) -> Snapshot:
        """Open the newest generation."""

    def status(self) -> StoreStatus:
        """Return what the newest generation is, without opening it."""

    def version(self) -> object:
        """Return something that differs when there may be a newer generation; it takes no time to look."""

    def maintain(self, everything: bool = False, progress: Progress | None = None) -> bool:
        """Do what a store needs after many commits; `everything`: all of it. Return whether there was any."""

    def files(self) -> list[StoredFile]:
        """Return the files of the store on this machine; none for a store elsewhere."""

    def verify(self, progress: Progress | None = None) -> list[Verification]:
        """Read everything, and return what is damaged."""

    def record_ranking(self, text: str) -> None:
        """Store the factors of ranking that the collection chose, as a new generation where they differ."""

    def writer(self, source: str = "update", wait: float = 0.0) -> Writer:
        """Return a writer. New posts name `source` as their origin; `wait`: seconds to wait for another writer."""
