"""Read the index of posts: terms, records and vectors of threads over mapped files."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import EVERY_FIELD, FAMILIES, FIELDS, TAG_FAMILY, Unit
from porism.caching import cached_method
from porism.store.embedded.storage.columns import CountedKeys, read_array, read_columns
from porism.store.embedded.storage.records import RecordsReader
from porism.store.embedded.terms.dictionary import find_sorted
from porism.store.embedded.terms.embedded import DocumentUnits, EmbeddedTermIndex, Mask
from porism.store.embedded.terms.postings import UnitMap
from porism.store.records import UNKNOWN, Filter, Positions, Term, Threads, spread

# Attributes of posts, one column each.
POST_TYPES = {"id": "<i8", "year": "<i2", "votes": "<i4", "accepted": "u1"}
Ints = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.float32]
FILTERS_KEPT = 16
VECTOR_FAMILIES = ("words", "tuples")  # whose terms vectors are learned from


def thread_of_posts(first: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Return the row of the thread of every post from where the posts of each thread start."""
    return np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first))


class Basis:
    """The basis that projects terms: codes in ascending order, their idf, and a row of the matrix for each."""

    def __init__(self, directory: Path, family: str) -> None:
        self.codes: Ints = np.load(directory / f"vectors.{family}.codes.npy")
        self.idf: Matrix = np.load(directory / f"vectors.{family}.idf.npy")
        self.matrix: npt.NDArray[np.float16] = read_array(directory / f"vectors.{family}.basis.npy")


class Vectors:
    """The vectors of a family, and the basis that projects a query. Later segments have no basis of their own."""

    def __init__(self, directory: Path, family: str) -> None:
        self._directory = directory
        self._family = family
        self._threads: npt.NDArray[np.float16] = read_array(directory / f"vectors.{family}.npy")

    @cached_property
    def basis(self) -> Basis:
        """The basis."""
        return Basis(self._directory, self._family)

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self._threads.shape[1])

    def query(self, codes: Ints, weights: Matrix) -> Matrix:
        """Return the vector of a query's terms, of length 1 (or 0 if no term is in the vocabulary)."""
        basis = self.basis
        if not len(basis.codes) or not len(codes):
            return np.zeros(basis.matrix.shape[1], np.float32)
        at = find_sorted(basis.codes, codes)
        known = at >= 0
        return unit_vectors((weights[known] * basis.idf[at[known]]) @ basis.matrix[at[known]].astype(np.float32))

    def threads(self, rows: Ints) -> Matrix:
        """Return the vectors of threads."""
        return half_floats().take(self._threads.view(np.uint16).take(rows, axis=0))


@cache
def half_floats() -> Matrix:
    """Return every half-precision number by its bits: looking up takes half the time of converting."""
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


def unit_vectors(vectors: Matrix) -> Matrix:
    """Return vectors of length 1, or 0 where they are 0."""
    lengths = np.sqrt((vectors * vectors).sum(-1, keepdims=True))
    unit: Matrix = vectors / np.maximum(lengths, 1e-9)
    return unit.astype(np.float32)


class DeletedThreads(NamedTuple):
    """Deleted threads: their rows in ascending order, and how many contain each term, by family."""

    rows: Ints
    terms: Mapping[str, CountedKeys]


class EmbeddedPosts:
    """An opened index of posts. `terms` is its TermIndex; the object itself is its DocumentStore. Safe for concurrent
    use.

    Deleted threads count in no statistics and are found by no search. Their rows remain."""

    def __init__(self, directory: Path, *, vectors: bool = True, deleted: DeletedThreads | None = None) -> None:
        self.directory = directory
        self.deleted: Ints = np.empty(0, np.int64) if deleted is None else deleted.rows
        self._first: Ints = read_array(directory / "threads.npy")
        self._attributes = read_columns(directory, POST_TYPES)
        self._records = RecordsReader(directory, FAMILIES, len(FIELDS))
        self.vectors = {family: Vectors(directory, family) for family in VECTOR_FAMILIES if vectors}
        self._masks = cached_method(FILTERS_KEPT, self._mask)
        terms = None if deleted is None else deleted.terms
        self.terms = EmbeddedTermIndex(
            directory, FAMILIES, FIELDS, DocumentUnits(self._units(), "thread", self._masks), terms
        )

    def _units(self) -> dict[str, UnitMap]:
        threads, is_answer = thread_of_posts(self._first), self._is_answer
        answers = np.where(is_answer, np.cumsum(is_answer) - 1, -1).astype(np.int32)
        questions = np.where(is_answer, -1, threads).astype(np.int32)
        count, gone = len(self._first) - 1, len(self.deleted)
        if gone:
            dead = np.isin(threads, self.deleted)
            threads, questions, answers = (
                np.where(dead, -1, units).astype(np.int32) for units in (threads, questions, answers)
            )
        return {
            "thread": UnitMap(threads, False, count, gone),
            "question": UnitMap(questions, False, count, gone),
            "answer": UnitMap(answers, False, len(is_answer) - count, self._deleted_answers),
        }

    @cached_property
    def _deleted_answers(self) -> int:
        return int((self._first[self.deleted + 1] - self._first[self.deleted] - 1).sum())

    def size(self, unit: Unit) -> int:
        """Return how many threads, questions or answers there are."""
        threads = len(self._first) - 1
        if unit == "answer":
            return len(self._attributes["id"]) - threads - self._deleted_answers
        return threads - len(self.deleted)

    @property
    def question_ids(self) -> Ints:
        """The ids of the questions of all threads, also of deleted ones."""
        ids: Ints = self._attributes["id"][self._first[:-1]]
        return ids

    @property
    def threads_of_answers(self) -> Ints:
        """The row of the thread of every answer."""
        return thread_of_posts(self._first)[self._is_answer].astype(np.int64)

    def fetch(self, threads: Ints, families: Names[str], vectors: Names[str] = (), lookup: Any = None) -> Threads:
        """Return threads in one batch. The record of each is read and decoded once."""
        first, end = self._first[threads], self._first[threads + 1]
        ends = np.cumsum(end - first)
        starts = ends - (end - first)
        posts = spread(first, end - first)
        rows = self._records.read(threads, end - first, sorted(families))
        columns = self._attributes
        return Threads(
            threads,
            starts,
            ends,
            columns["id"][posts],
            columns["year"][posts].astype(np.int64),
            columns["accepted"][posts].astype(np.bool_),
            rows,
            {family: self.vectors[family].threads(threads) for family in vectors},
            lookup,
        )

    def packed(self, first: int, end: int) -> list[bytes]:
        """Return the packed terms of threads from the first up to, but not including, the end."""
        return self._records.packed(first, end)

    def post_ids(self, unit: Unit, rows: Ints) -> Ints:
        """Return the ids of questions or of answers by their rows."""
        posts = np.flatnonzero(self._is_answer)[rows] if unit == "answer" else self._first[rows]
        ids: Ints = self._attributes["id"][posts]
        return ids

    def locate(self, ids: Ints) -> Positions:
        """Return where posts are."""
        threads, positions = np.full(len(ids), UNKNOWN, np.int64), np.zeros(len(ids), np.int64)
        rows = find_sorted(self._attributes["id"], ids, self._by_id)
        known = rows >= 0
        threads[known] = np.searchsorted(self._first, rows[known], side="right") - 1
        positions[known] = rows[known] - self._first[threads[known]]
        return Positions(threads, positions)

    @cached_property
    def _is_answer(self) -> Mask:
        is_answer = np.ones(len(self._attributes["id"]), np.bool_)
        is_answer[self._first[:-1]] = False
        return is_answer

    @cached_property
    def _by_id(self) -> Ints:
        return np.argsort(self._attributes["id"], kind="stable")

    def _mask(self, allow: Filter, unit: Unit) -> Mask:
        """Return which documents of a unit a filter allows."""
        is_question = ~self._is_answer
        allowed = is_question if allow.kind == "question" else ~is_question
        allowed = allowed & allow.passes(self._attributes["year"], self._attributes["accepted"].astype(np.bool_))
        threads = thread_of_posts(self._first)
        for tag in allow.tags:
            tagged = np.zeros(len(self._first) - 1, np.bool_)
            tagged[self.terms.documents(Term(TAG_FAMILY, tag), EVERY_FIELD)] = True
            allowed = allowed & tagged[threads]
        if unit != "thread":
            return allowed[is_question] if unit == "question" else allowed[~is_question]
        kept = np.zeros(len(self._first) - 1, np.bool_)
        kept[threads[allowed]] = True
        return kept
