"""A store in memory: records in dictionaries. Each commit builds everything anew, which suits small collections and
tests.

    store = MemoryStore()
    with store.writer() as writer:
        writer.put([RawPost(...)])
        writer.commit()
    Engine(store.snapshot(), store=store).search("...")

Ids of formulas and visual ids are numbered anew by each commit; ids of posts stay.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any, NamedTuple

from porism.corpus.sources.raw import Record
from porism.corpus.store.collection import Collection
from porism.corpus.update.changes import Changes
from porism.corpus.update.delta import DeltaWriter
from porism.integrity import StoredFile, Verification
from porism.locks import BusyError
from porism.progress import Progress
from porism.store import MEMORY
from porism.store.local import LocalSnapshot, unit_counts, view_counts
from porism.store.local_writer import LocalWriter
from porism.store.memory.building import Contents, RawRecords, build_contents
from porism.store.protocols import Learned, LogPosition, Option, StoreInfo, StoreStatus

OPTIONS: frozenset[Option] = frozenset({"weightings", "units"})
FIRST_GENERATION = 1


class MemoryCommit(NamedTuple):
    """What a commit replaces as a whole."""

    records: RawRecords
    contents: Contents
    position: LogPosition
    ranking: str
    snapshot: LocalSnapshot


class MemoryStore:
    """A store in memory. Many threads may read it; one writer changes it at a time."""

    address = MEMORY

    def __init__(self, name: str = "memory") -> None:
        self._name = name
        self._lock = Lock()
        self._state = self._opened(RawRecords(), FIRST_GENERATION)

    @classmethod
    def of(cls, records: Iterable[Record], name: str = "memory") -> MemoryStore:
        """Return a store of these records. Unlike a writer it also takes votes, badges and revisions."""
        store = cls(name)
        store._state = store._opened(RawRecords.of(records, name), FIRST_GENERATION)
        return store

    def status(self) -> StoreStatus:
        """Return what the newest commit is."""
        state, info = self._state, self._state.snapshot.info
        counts = {name: state.contents.collection.count(name) for name in ("posts", "formulas", "visuals")}
        return StoreStatus(
            info.generation, info.fingerprint, 1, 0, self._committed, state.position, counts, ranking=state.ranking
        )

    def version(self) -> object:
        """Return the number of the newest commit."""
        return self._state.snapshot.info.generation

    def maintain(self, everything: bool = False, progress: Progress | None = None) -> bool:
        """Do nothing: each commit builds everything anew."""
        return False

    def files(self) -> list[StoredFile]:
        """Return no files."""
        return []

    def verify(self, progress: Progress | None = None) -> list[Verification]:
        """Return nothing: there are no files that could be damaged."""
        return []

    def snapshot(self) -> LocalSnapshot:
        """Return the newest commit."""
        return self._state.snapshot

    def writer(self, source: str = "update", wait: float = 0.0) -> MemoryWriter:
        """Return a writer."""
        return MemoryWriter(self, source, wait)

    def record_ranking(self, text: str) -> None:
        """Store the factors of ranking that the collection chose."""
        state = self._state
        if text != state.ranking:
            snapshot = self._snapshot(state.contents, text, state.snapshot.info.generation + 1)
            self._state = state._replace(ranking=text, snapshot=snapshot)

    def _opened(
        self, records: RawRecords, generation: int, position: LogPosition | None = None, ranking: str = ""
    ) -> MemoryCommit:
        contents = build_contents(records, self._name)
        snapshot = self._snapshot(contents, ranking, generation)
        self._committed = time.time()
        return MemoryCommit(records, contents, position or LogPosition(), ranking, snapshot)

    def _snapshot(self, contents: Contents, ranking: str, generation: int) -> LocalSnapshot:
        collection, documents, formulas = contents.collection, contents.documents, contents.formulas
        info = StoreInfo(
            self.address,
            self._name,
            generation,
            collection.digest,
            unit_counts(documents, formulas),
            view_counts(documents, formulas),
            OPTIONS,
        )
        learned = Learned(formulas, contents.concepts, contents.vocabulary, contents.vectors, ranking)
        return LocalSnapshot(info, learned, collection, documents, formulas)


class MemoryWriter(LocalWriter):
    """Changes a store in memory. Use it in a `with` statement; changes that are not committed are dropped."""

    def __init__(self, store: MemoryStore, source: str, wait: float) -> None:
        super().__init__(source)
        self._store = store
        self._wait = wait

    def __enter__(self) -> MemoryWriter:
        if not self._store._lock.acquire(timeout=self._wait):
            fix = "wait for it, or give `wait`"
            raise BusyError("another writer changes it now", where=self._store.address, fix=fix)
        return self

    def __exit__(self, *error: Any) -> None:
        self._store._lock.release()

    @property
    def log_position(self) -> LogPosition:
        """The last record of a change log that the store has."""
        return self._store._state.position

    def collection(self) -> AbstractContextManager[Collection]:
        """Return the collection, which stays open."""
        return nullcontext(self._store._state.contents.collection)

    def write(self, changes: Changes, made: DeltaWriter, position: LogPosition | None) -> None:
        """Build everything anew, if the changes changed anything; keep the position."""
        store, state = self._store, self._store._state
        place = position or state.position
        if made.delta:
            records = state.records.changed(changes, self.source)
            store._state = store._opened(records, state.snapshot.info.generation + 1, place, state.ranking)
        else:
            store._state = state._replace(position=place)
