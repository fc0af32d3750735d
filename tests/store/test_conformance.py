"""The store in memory and the embedded store pass the conformance suite, which rejects wrong stores."""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from porism.corpus.content import Content
from porism.store.conformance import CHECKS, Subject, check_store, checks_of, searching
from porism.store.conformance.contents import formulas_come_in_the_order_requested, threads_come_in_the_order_requested
from porism.store.conformance.searching import bm25_scores_are_exact, the_best_come_first
from porism.store.memory.store import MemoryStore
from porism.store.protocols import Snapshot, Store, Writer
from porism.store.records import Hits, Ints
from store.stores import empty_embedded_store

Check = Callable[[Subject], None]


@pytest.fixture(scope="module")
def memory() -> Subject:
    return Subject(MemoryStore)


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    return Subject(lambda: empty_embedded_store(tmp_path_factory.mktemp("embedded")))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_store_in_memory_conforms(memory: Subject, check: Check) -> None:
    check(memory)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_embedded_store_conforms(embedded: Subject, check: Check) -> None:
    check(embedded)


INNER = {"snapshot": Snapshot, "writer": Writer, "content": Content}


class Recorded:
    """A part of a store that records which of its methods and attributes are read."""

    def __init__(self, value: Any, protocol: type, read: set[tuple[type, str]]) -> None:
        self._value, self._protocol, self._read = value, protocol, read

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._value, name, value)

    def __getattr__(self, name: str) -> Any:
        self._read.add((self._protocol, name))
        value = getattr(self._value, name)
        if name == "content":
            return self._inner(name, value)
        return (lambda *args, **options: self._inner(name, value(*args, **options))) if name in INNER else value

    def _inner(self, name: str, value: Any) -> Recorded:
        return Recorded(value, INNER[name], self._read)

    def __enter__(self) -> Recorded:
        self._value.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._value.__exit__(*error)


def test_the_suite_uses_every_method() -> None:
    read: set[tuple[type, str]] = set()
    check_store(lambda: Recorded(MemoryStore(), Store, read))  # type: ignore[arg-type,return-value]
    protocols = (Store, Writer, Snapshot, Content)
    every = {(one, name) for one in protocols for name in {*vars(one), *one.__annotations__} if name[0] != "_"}
    assert {f"{one.__name__}.{name}" for one, name in every - read} == set()


def test_what_a_store_does_not_declare_it_refuses(memory: Subject) -> None:
    plain = copy(memory.snapshot)
    plain.info = replace(plain.info, options=frozenset())  # type: ignore[misc]
    for check in checks_of(searching):
        check(Given(memory, plain))


class Changed:
    """A snapshot of which some calls are wrong."""

    def __init__(self, snapshot: Snapshot, **wrong: Callable[..., Any]) -> None:
        self._snapshot = snapshot
        self._wrong = wrong

    def __getattr__(self, name: str) -> Any:
        return self._wrong.get(name) or getattr(self._snapshot, name)


class Given(Subject):
    """A subject whose snapshot is given."""

    def __init__(self, right: Subject, snapshot: Any) -> None:
        super().__init__(right.make)
        self.__dict__["snapshot"] = snapshot


def wrong(right: Subject, **calls: Callable[..., Any]) -> Subject:
    """Return a subject of which some calls are wrong."""
    return Given(right, Changed(right.snapshot, **calls))


def test_the_suite_rejects_a_store_that_loses_the_last_hit(memory: Subject) -> None:
    def search(searches: Any, **options: Any) -> list[Hits]:
        found = memory.snapshot.search(searches, **options)
        return [Hits(one.numbers[:-1], one.scores[:-1]) for one in found]

    with pytest.raises(AssertionError, match="documents with one of the terms"):
        bm25_scores_are_exact(wrong(memory, search=search))


def test_the_suite_rejects_a_store_that_returns_too_many(memory: Subject) -> None:
    def search(searches: Any, **options: Any) -> list[Hits]:
        return memory.snapshot.search([one.__class__(one.terms, one.view, 99) for one in searches], **options)

    with pytest.raises(AssertionError, match="the best 0 are not"):
        the_best_come_first(wrong(memory, search=search))


def test_the_suite_rejects_batches_in_another_order(memory: Subject) -> None:
    def threads(numbers: Ints, families: Collection[str], vectors: Collection[str] = ()) -> Any:
        return memory.snapshot.threads(np.sort(numbers), families, vectors)

    def formulas(numbers: Ints) -> Any:
        return memory.snapshot.formulas(np.sort(numbers))

    with pytest.raises(AssertionError, match="order requested"):
        threads_come_in_the_order_requested(wrong(memory, threads=threads))
    with pytest.raises(AssertionError, match="order requested"):
        formulas_come_in_the_order_requested(wrong(memory, formulas=formulas))
