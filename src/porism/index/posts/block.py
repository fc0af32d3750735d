"""A block: threads as rows of terms, attributes of posts, and occurrences of names and formulas. Worker processes make blocks; they open the
collection themselves."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.corpus.post import Post, Thread
from porism.corpus.store.collection import Collection
from porism.index.concepts.occurrences import ConceptBlock, ConceptCollector
from porism.index.formulas.codes import FormulaCodes
from porism.index.posts.occurrences import Occurrences, VisualUse
from porism.index.posts.pieces import Pieces, split_thread
from porism.index.schema import FAMILIES
from porism.index.storage.columns import read_array, read_columns
from porism.index.storage.rows import Rows
from porism.index.terms.blocks import LocalRows
from porism.index.worker import open_in_worker
from porism.text.segment import Text

Ints = npt.NDArray[np.int64]
# Attributes of posts, one column each.
POST_TYPES = {"id": "<i8", "year": "<i2", "votes": "<i4", "accepted": "u1"}


class Task(NamedTuple):
    """A task of a worker: questions of a collection. `codes` and `forms` hold the terms of its formulas (each build has its own folder);
    unchanged threads are copied from the index at `base`."""

    collection: Path
    digest: str
    codes: Path
    forms: Path
    questions: Ints
    links: bool
    base: Path | None


class ThreadBlock(NamedTuple):
    """Threads: the number of posts of each, a hash that changes with anything in a thread, attributes of posts, and rows by family."""

    sizes: Ints
    signatures: npt.NDArray[np.uint64]
    attributes: dict[str, npt.NDArray[np.int64]]
    rows: dict[str, LocalRows]


class ThreadResult(NamedTuple):
    """The result of a task: blocks in order, and what concepts are learned from."""

    blocks: list[ThreadBlock]
    concepts: ConceptBlock


def make_threads(task: Task) -> ThreadResult:
    """Do one task. A thread that is copied from the base is a block of its own."""
    collection, known = open_in_worker(task.collection, task.digest), _formulas(task.codes, task.forms)
    base = None if task.base is None else _base(task.base, task.codes)
    blocks: list[ThreadBlock] = []
    concepts = ConceptCollector()
    new = _NewThreads()
    for number in task.questions.tolist():
        thread = collection.thread(number)
        titles = _linked_titles(collection, thread) if task.links else []
        signature = _signature(thread, titles)
        pieces = split_thread(thread, titles, task.links)
        concepts.add(thread, pieces)
        row = None if base is None else base.row(signature)
        if base is not None and row is not None:
            blocks += new.blocks(known, collection)
            new = _NewThreads()
            blocks.append(base.block(row))
        else:
            new.add(thread, pieces, _visuals(collection, thread), signature)
    blocks += new.blocks(known, collection)
    return ThreadResult(blocks, concepts.block(known))


class _NewThreads:
    """Threads whose terms are computed."""

    def __init__(self) -> None:
        self._occurrences = Occurrences()
        self._sizes: list[int] = []
        self._signatures: list[int] = []
        self._posts: list[tuple[int, int, int, int]] = []  # in the order of POST_TYPES

    def add(self, thread: Thread, pieces: Pieces, visuals: list[VisualUse], signature: int) -> None:
        """Add the next thread."""
        accepted = thread.question.accepted_id
        has_accepted = any(answer.id == accepted for answer in thread.answers)
        self._occurrences.add(thread, pieces, visuals)
        self._sizes.append(1 + len(thread.answers))
        self._signatures.append(signature)
        self._posts.append(_attributes(thread.question, has_accepted))
        self._posts += [_attributes(answer, answer.id == accepted) for answer in thread.answers]

    def blocks(self, known: FormulaCodes, collection: Collection) -> list[ThreadBlock]:
        """Return one block, or none if no thread was added."""
        if not self._sizes:
            return []
        columns = np.array(self._posts, np.int64).T
        attributes = dict(zip(POST_TYPES, columns, strict=True))
        signatures = np.array(self._signatures, np.uint64)
        return [
            ThreadBlock(
                np.array(self._sizes, np.int64), signatures, attributes, self._occurrences.rows(known, collection)
            )
        ]


def _attributes(post: Post, accepted: bool) -> tuple[int, int, int, int]:
    """Return id, year (0: not known), votes and accepted."""
    year = int(post.created[:4]) if post.created[:4].isdigit() else 0
    return post.id, year, post.score, int(accepted)


def _signature(thread: Thread, titles: list[Text]) -> int:
    text = repr((thread, titles)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


def _linked_titles(collection: Collection, thread: Thread) -> list[Text]:
    titles = (collection.title(link.other_id) for link in thread.links)
    return [title for title in titles if title]


def _visuals(collection: Collection, thread: Thread) -> list[VisualUse]:
    """Return where formulas occur in the posts of a thread."""
    found: list[VisualUse] = []
    for position, post in enumerate((thread.question, *thread.answers)):
        for use in collection.visuals_of(post.id):
            field = f"{post.kind}_comments" if use.kind == "comment" else use.kind
            found.append(VisualUse(position, field, use.visual_id))
    return found


class Base:
    """An index of posts from which threads are copied."""

    def __init__(self, directory: Path) -> None:
        self._rows = {family: Rows(directory, family) for family in FAMILIES}
        self._attributes = read_columns(directory, POST_TYPES)
        self._first: Ints = read_array(directory / "threads.npy")
        self._signatures: npt.NDArray[np.uint64] = np.load(directory / "signatures.npy")
        self._order = np.argsort(self._signatures, kind="stable")

    def row(self, signature: int) -> int | None:
        """Return the row of the thread with this signature, if there is one."""
        wanted = np.uint64(signature)
        at = int(np.searchsorted(self._signatures, wanted, sorter=self._order))
        if at == len(self._order) or self._signatures[self._order[at]] != wanted:
            return None
        return int(self._order[at])

    def block(self, row: int) -> ThreadBlock:
        """Return one thread."""
        first, end = int(self._first[row]), int(self._first[row + 1])
        rows = {family: LocalRows(found.block(first, end), None) for family, found in self._rows.items()}
        attributes = {name: column[first:end].astype(np.int64) for name, column in self._attributes.items()}
        return ThreadBlock(np.array([end - first]), self._signatures[row : row + 1], attributes, rows)


# Kept by a worker from task to task; `codes` identifies the build.


@lru_cache(1)
def _formulas(codes: Path, forms: Path) -> FormulaCodes:
    return FormulaCodes(codes, forms)


@lru_cache(1)
def _base(path: Path, codes: Path) -> Base:
    return Base(path)
