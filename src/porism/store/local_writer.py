"""What the writers of stores in this process have in common. Readers do without it, and so open sooner."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager

from porism.corpus.sources.raw import Dropped, Source
from porism.corpus.store.collection import Collection
from porism.corpus.update.changes import Changes, PendingChanges
from porism.corpus.update.delta import Delta, DeltaWriter
from porism.corpus.update.sources import compare_source
from porism.store.protocols import LogPosition


class LocalWriter(PendingChanges):
    """Compares and makes changes of a collection."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source

    @abstractmethod
    def collection(self) -> AbstractContextManager[Collection]:
        """Return a context in which the collection that is changed is open."""

    @abstractmethod
    def write(self, changes: Changes, made: DeltaWriter, position: LogPosition | None) -> None:
        """Write changes, if they changed anything, and the position of a change log, if given."""

    def compare(self, source: Source, delete_many: bool = False) -> list[Dropped]:
        """Prepare the changes that bring the store to the state of a source; return what of the source is left out."""
        with self.collection() as collection:
            self.changes, self.source, dropped = compare_source(collection, source, delete_many)
        return dropped

    def commit(self, position: LogPosition | None = None) -> Delta:
        """Make the changes visible to readers that open the store from now on; return what changed.

        `position` is the last record of a change log that the changes come from. It is stored with them, so that no
        record is applied twice."""
        changes, self.changes = self.changes, Changes()
        with self.collection() as collection:
            made = DeltaWriter(collection, changes, self.source)
            delta = made.apply()  # drops what cannot be made
            if delta or position is not None:
                self.write(changes, made, position)
        return delta
