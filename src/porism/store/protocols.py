"""The protocols through which ranking reaches an index: `TermIndex`, and `DocumentStore` for posts or `FormulaStore` for formulas.

`TermIndex` turns terms into candidates; the two stores return everything that re-ranking and display read of them, in one batch. The
embedded index (mapped files) and an index in memory implement all three; a search cluster can implement them later.
`porism.store.conformance` checks an implementation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import Unit, View
from porism.corpus.post import Post, PostKind
from porism.store.embedded.storage.rows import FIELD_SHIFT
from porism.store.weighting import ViewCounts, Weighting

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint32]
UNKNOWN = -1  # the code of a term that no document contains


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a query: its family, its text, and its weight in the query."""

    family: str
    text: str
    weight: float = 1.0


class TermStatistics(NamedTuple):
    """For each requested term: the code by which documents name it (UNKNOWN if none does), and the number of documents of the view that
    contain it."""

    codes: Ints
    documents: Ints


class Candidates(NamedTuple):
    """Rows of a unit, best first; equal scores in the order of rows."""

    rows: Ints
    scores: Floats


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


class TermIndex(Protocol):
    """An inverted index with raw counts per field."""

    def count(self, family: str, view: View) -> ViewCounts:
        """Return the number of documents of a view and the sum of their lengths in a family."""
        ...

    def statistics(self, terms: Sequence[Term], view: View) -> TermStatistics:
        """Return the statistics of many terms in one call; a term's weight does not matter."""
        ...

    def frequencies(self, family: str, codes: Ints) -> Ints:
        """Return how many threads contain each term, by the codes that documents use."""
        ...

    def texts(self, family: str, codes: Ints) -> list[str]:
        """Return the terms with these codes. Words, tags and visual ids have texts; those of other families may be empty."""
        ...

    def numbers(self, family: str, codes: Ints) -> Ints:
        """Return the terms with these codes, which are decimal numbers such as visual ids, as integers."""
        ...

    def search(
        self,
        terms: Sequence[Term],
        view: View,
        weighting: Weighting,
        k: int,
        *,
        allow: Filter | None = None,
        required: Sequence[Term] = (),
    ) -> Candidates:
        """Return the k documents of the view's unit with the largest sum of weights, among those that contain one of the terms and all
        the required ones. `allow` restricts the documents before the best are chosen."""
        ...


class TermRows(NamedTuple):
    """The terms of a batch of posts in one family. The entries of post number i are those from starts[i] to ends[i]: the code of a term,
    and a cell that packs a field and a count (see `porism.store.embedded.storage.rows`). Codes are in no order. The arrays may hold more than these
    entries: families of a batch may share them."""

    starts: Ints
    ends: Ints
    codes: Codes
    cells: npt.NDArray[np.uint8]
    lengths: npt.NDArray[np.int32]  # of each post, by field


class Threads(NamedTuple):
    """A batch of threads in the order requested. Posts of a thread follow each other, the question first: those of thread number i are
    the posts from starts[i] to ends[i] of the batch. `terms` has the requested families, `vectors` the requested kinds (one row a thread)."""

    rows: Ints
    starts: Ints
    ends: Ints
    post_ids: Ints
    years: Ints  # of each post; 0 where the source does not say
    accepted: npt.NDArray[np.bool_]  # of each post: an accepted answer, or a question that has one
    terms: Mapping[str, TermRows]
    vectors: Mapping[str, npt.NDArray[np.float32]]

    def without(self, thread: int, fields: Collection[int], families: Collection[str]) -> Threads:
        """Return the same batch without some fields, by number, of the question of a thread, by its position, in some families."""
        post = int(self.starts[thread])
        changed = {family: _without(self.terms[family], post, fields) for family in families if family in self.terms}
        return self._replace(terms={**self.terms, **changed})

    def answers(self) -> tuple[Ints, Ints]:
        """Return the positions of all answers in the batch of posts, and for each the position of its thread."""
        sizes = self.ends - self.starts
        thread_of = np.repeat(np.arange(len(sizes)), sizes - 1)
        within = np.arange(len(thread_of)) - np.repeat(np.cumsum(sizes - 1) - (sizes - 1), sizes - 1)
        return self.starts[thread_of] + 1 + within, thread_of


def _without(rows: TermRows, post: int, fields: Collection[int]) -> TermRows:
    codes, cells, ends, lengths = rows.codes.copy(), rows.cells.copy(), rows.ends.copy(), rows.lengths.copy()
    own = slice(int(rows.starts[post]), int(rows.ends[post]))
    kept = ~np.isin(cells[own] >> FIELD_SHIFT, list(fields))
    end = own.start + int(kept.sum())
    codes[own.start : end], cells[own.start : end] = rows.codes[own][kept], rows.cells[own][kept]
    ends[post] = end
    lengths[post, list(fields)] = 0
    return TermRows(rows.starts, ends, codes, cells, lengths)


class StoredPost(NamedTuple):
    """What a reader sees of a post: the post, the question of its thread, and whether it is the accepted answer."""

    post: Post
    question: Post
    accepted: bool


class Positions(NamedTuple):
    """Where posts are: the row of the thread of each (UNKNOWN if there is no such post), and the position in it (0: the question)."""

    threads: Ints
    positions: Ints


class DocumentStore(Protocol):
    """Everything that ranking and display read of candidates."""

    def size(self, unit: Unit) -> int:
        """Return how many threads, questions or answers there are."""
        ...

    def fetch(self, threads: Ints, families: Collection[str], vectors: Collection[str] = ()) -> Threads:
        """Return threads by their rows, with the terms of these families and vectors of these kinds, in one batch."""
        ...

    def post_ids(self, unit: Unit, rows: Ints) -> Ints:
        """Return the ids of the questions of threads, of questions, or of answers, by their rows."""
        ...

    def posts(self, ids: Sequence[int]) -> list[StoredPost]:
        """Return posts by their ids, with their text."""
        ...

    def locate(self, ids: Ints) -> Positions:
        """Return where posts are: the row of the thread of each, and the position of the post in it."""
        ...


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


class Formulas(NamedTuple):
    """A batch of distinct formulas in the order requested: layout trees and operator trees as symbol sequences, and paths."""

    rows: Ints
    layout: SymbolSequences
    operators: SymbolSequences
    paths: PathRows


class FormulaStore(Protocol):
    """Everything that ranking and display read of distinct formulas. A formula has a row, in the order of visual ids; rows are the documents
    of `terms`. A label (`V!x`, `O!plus`) has an id and a weight for each of the two trees."""

    @property
    def terms(self) -> TermIndex:
        """The term index of the formulas: tuples, paths and sub-expressions."""
        ...

    @property
    def formulas(self) -> int:
        """The number of formulas."""
        ...

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

    def fetch(self, rows: Ints) -> Formulas:
        """Return formulas by their rows in one batch."""
        ...

    def trees(self, rows: Sequence[int]) -> list[bytes]:
        """Return the packed trees of formulas in one batch; `porism.formula.binary.unpack` reads them."""
        ...

    def latex(self, rows: Sequence[int]) -> list[str]:
        """Return the LaTeX of formulas in one batch."""
        ...

    def visual_ids(self, rows: Ints) -> Ints:
        """Return the visual ids of formulas."""
        ...

    def rows(self, visual_ids: Ints) -> Ints:
        """Return the rows of visual ids, UNKNOWN for those that the index lacks."""
        ...

    def part_codes(self, expressions: Sequence[int]) -> list[list[int]]:
        """Return the codes of the sub-expressions of expressions of the collection; none for an unknown one."""
        ...
