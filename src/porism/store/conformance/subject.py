"""The store under test: made empty, filled through its writer, and read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np

from porism.corpus.sources.raw import Record
from porism.store.conformance.collection import (
    ANSWERS,
    BEFORE,
    GONE,
    GONE_COMMENT,
    GONE_LINK,
    QUESTIONS,
    RECORDS,
    SOURCE,
)
from porism.store.memory.features import ExpressionFeatures
from porism.store.memory.posts import MemoryPost, read_posts
from porism.store.protocols import Snapshot, Store
from porism.store.records import Ints, Threads

Make = Callable[[], Store]


class Subject:
    """A store under test. `make` returns a new store without posts each time it is called."""

    def __init__(self, make: Make) -> None:
        self.make = make

    def filled(self, records: Iterable[Record]) -> Store:
        """Return a new store with these records, written in one commit."""
        store = self.make()
        put(store, records)
        return store

    @cached_property
    def store(self) -> Store:
        """A store with the suite's posts, written in two commits, of which the second one replaces and deletes some of the first."""
        store = self.make()
        put(store, BEFORE)
        with store.writer(SOURCE) as writer:
            writer.put(RECORDS)
            writer.delete([GONE[0].id])
            writer.delete_comments([GONE_COMMENT.id])
            writer.delete_links([GONE_LINK])
            writer.commit()
        return store

    @cached_property
    def snapshot(self) -> Snapshot:
        """The newest generation of the store."""
        return self.store.snapshot()

    @cached_property
    def numbers(self) -> Ints:
        """The numbers of all threads, in the order of their questions' ids."""
        return self.snapshot.locate(ids_of(QUESTIONS)).threads

    @cached_property
    def formula_numbers(self) -> Ints:
        """The numbers of all distinct formulas that posts name."""
        batch = self.snapshot.threads(self.numbers, ["formula"])
        found = batch.lookup.formulas(batch.terms["formula"].distinct())
        return np.unique(found[found >= 0])

    def all_threads(self, families: Iterable[str]) -> Threads:
        """Return the records of all threads."""
        return self.snapshot.threads(self.numbers, list(families))

    @cached_property
    def expected(self) -> dict[int, MemoryPost]:
        """The terms of every post by its id, counted from its text."""
        content = self.snapshot.content
        return {post.id: post for post in read_posts(content, ExpressionFeatures(content))}


def put(store: Store, records: Iterable[Record]) -> None:
    """Write records in one commit."""
    with store.writer(SOURCE) as writer:
        writer.put(records)
        writer.commit()


def ids_of(posts: Iterable[object]) -> Ints:
    """Return the ids of posts."""
    return np.array([post.id for post in posts], np.int64)  # type: ignore[attr-defined]


ALL_IDS: Ints = np.sort(ids_of((*QUESTIONS, *ANSWERS)))
