"""Apply a change log to its index: batches of records become commits, and each commit stores how far the log is
applied.

Changes and position are one commit, so that a process may be killed at any moment: the next one goes on after the last
record that the index has. A batch gives what its records give one after the other. A record that cannot be applied is
set aside and reported; the others go on. That includes a record with which the process died again and again: what is
tried is noted beside the log."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from porism.corpus.update.changes import Changes, take_record
from porism.errors import PorismError
from porism.files import make_private, sync_folder
from porism.store import open_store
from porism.store.change_log import LogRecord, open_log
from porism.store.protocols import LogPosition, Writer
from porism.store.state import State

LOG = logging.getLogger("porism.store")
MOST_BYTES = 4 << 20  # of the log in one commit
MOST_RECORDS = 500  # of the log in one commit: they should be searchable soon
TRIM_BYTES = 4 << 20  # applied records that are removed from the log even though others wait
LOCK_SECONDS = 600.0  # to wait for another writer, such as `porism update`
MOST_DEATHS = 10  # of processes that were applying one record, until it is set aside
SOURCE = "api"
# Errors that have nothing to do with a record: disk, memory, another process. The batch is tried again later.
PASSING = (OSError, MemoryError, PorismError, sqlite3.OperationalError)


class Rejected(NamedTuple):
    """A change that could not be applied: the number of its record, the change (or the damaged line), and why."""

    sequence: int
    change: Any
    why: str


@dataclass
class RecordBatch:
    """Records that one commit applies."""

    changes: Changes = field(default_factory=Changes)
    records: list[LogRecord] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    sequences: dict[str, int] = field(default_factory=dict)  # of posts and comments: the record that puts each
    _referenced: set[int] = field(default_factory=set)  # posts that records name, but do not change

    def takes(self, record: LogRecord) -> bool:
        """Add a record, and return True; or return False if it must wait until this batch is committed.

        Of several changes of a post the last one counts. That is right unless a later record changes a post that an
        earlier one needs (the question of an answer), or puts a post again that was deleted with all its answers."""
        changes, wrong = Changes(), []
        for change in record.changes:
            try:
                take_record(changes, change)
            except Exception as error:  # it was checked before it was accepted, perhaps by another version
                wrong.append(Rejected(record.sequence, change, str(error)))
        changed = changes.posts.keys() | changes.deleted_posts
        # The posts that must be there for changes to be made.
        named = {post.parent_id for post in changes.posts.values() if post.parent_id is not None}
        named |= {comment.post_id for comment in changes.comments.values()}
        named |= {link.post_id for link in changes.links.values()}
        again = (named | changes.posts.keys()) & self.changes.deleted_posts
        if self.records and (changed & self._referenced or again):
            return False
        self._referenced |= named
        self.rejected += wrong
        if record.damaged:
            self.rejected.append(Rejected(record.sequence, record.damaged.decode("latin-1"), "the line is damaged"))
        self.records.append(record)
        self.sequences |= {f"posts {number}": record.sequence for number in changes.posts}
        self.sequences |= {f"comments {number}": record.sequence for number in changes.comments}
        own = self.changes
        own.delete(changes.deleted_posts)
        own.delete_comments(changes.deleted_comments)
        own.put(changes.posts.values())
        own.put(changes.comments.values())
        own.put(changes.links.values())
        return True

    @property
    def first(self) -> int:
        """The number of the first record."""
        return self.records[0].sequence

    @property
    def last(self) -> int:
        """The number of the last record."""
        return self.records[-1].sequence


class Attempt(NamedTuple):
    """Records that a process applied when it died: the first, the last, and how many died before with the first."""

    first: int
    last: int
    deaths: int


class Attempts:
    """A note in a file of the records that are being applied: with which the process died, if it did."""

    def __init__(self, path: Path, log: str) -> None:
        self._path = path
        self._log = log
        self._died: Attempt | None = None
        with suppress(OSError, ValueError):
            of, *numbers = path.read_text("ascii").split(" ")
            self._died = Attempt(*map(int, numbers)) if of == log and len(numbers) == 3 else None

    def died_with(self, first: int) -> Attempt | None:
        """Return the attempt with which the process before this one died, if it began with this record."""
        return self._died if self._died is not None and self._died.first == first else None

    def begin(self, attempt: Attempt) -> None:
        """Note that records are being applied."""
        with open(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as out:
            out.write(" ".join((self._log, *map(str, attempt))))

    def end(self) -> None:
        """Note that nothing is being applied."""
        self._path.unlink(missing_ok=True)


class LogApplier:
    """Applies the change log of a store. A second process waits for the lock of the index."""

    def __init__(self, places: State) -> None:
        self._places = places
        self.log = open_log(places)
        self._store = open_store(places.address)
        state, position = self.log.state(), self._store.status().log_position
        first = position.sequence if position.log == state.log else 0
        if first < state.removed:  # the index was built again, or is an older copy
            LOG.warning("the index lacks changes %s to %s, which the log no longer has", first + 1, state.removed)
        self.has_more = False  # whether the last batch left records that were there
        self._idle = (0, 0, 0)  # the state of the file when all its records were applied
        self._single = 0  # up to this record, one at a time
        self._attempts = Attempts(self._places.attempts, state.log)

    def has_changes(self) -> bool:
        """Return whether a record waits. Takes no lock of the index."""
        state = self.log.path.stat()
        version = (state.st_ino, state.st_size, state.st_mtime_ns)
        if version == self._idle:
            return False
        waits = self.log.state().waiting(self._store.status().log_position)
        if not waits:
            self._idle = version
        return waits > 0

    def step(self) -> int:
        """Apply the next batch in one commit; return how many records it had."""
        with self._store.writer(SOURCE, LOCK_SECONDS) as writer:
            position = writer.log_position
            own = self.log.state().log
            applied = position.sequence if position.log == own else 0
            batch = self._batch(applied)
            if not batch.records:
                return 0
            died = self._attempts.died_with(batch.first)
            if died is not None and died.last > self._single:  # perhaps of one of several records: find it
                self._single = died.last
                batch = self._batch(applied)
            deaths = died.deaths + 1 if died is not None and died.first == died.last else 0
            self._attempts.begin(Attempt(batch.first, batch.last, deaths))
            if deaths < MOST_DEATHS:
                writer.changes = batch.changes
            else:
                why = f"{deaths} processes died while they applied it"
                batch.rejected = [Rejected(batch.last, change, why) for change in batch.records[0].changes]
            self._commit(writer, batch, LogPosition(own, batch.last))
        self._attempts.end()
        self.log.trim(batch.last, least=TRIM_BYTES)
        return len(batch.records)

    def _batch(self, applied: int) -> RecordBatch:
        batch = RecordBatch()
        self.has_more = True
        for record in self.log.read(applied, MOST_BYTES):
            if not batch.takes(record) or record.sequence <= self._single or len(batch.records) >= MOST_RECORDS:
                return batch
        self.has_more = False
        return batch

    def _commit(self, writer: Writer, batch: RecordBatch, position: LogPosition) -> None:
        rejected = batch.rejected
        try:
            delta = writer.commit(position)
            for one in delta.skipped:
                name = f"{one.what} {one.where}"
                rejected.append(Rejected(batch.sequences.get(name, batch.last), name, one.why))
            for one in delta.remarks:
                LOG.warning("%s: %s: %s", one.what, one.where, one.why)
        except PASSING:
            raise
        except Exception as error:
            if len(batch.records) > 1:  # find the record that fails
                self._single = batch.last
                raise PorismError(f"a batch of changes failed: {error!r}", where=str(self._places.address)) from error
            LOG.exception("change %s cannot be applied", batch.last)
            writer.commit(position)  # without changes: it took them
            rejected += [Rejected(batch.last, change, repr(error)) for change in batch.records[0].changes]
        if rejected:
            self._report(rejected)

    def _report(self, rejected: list[Rejected]) -> None:
        for one in rejected:
            LOG.warning("change %s is left out: %s", one.sequence, one.why)
        path = self._places.rejected
        make_private(path)
        with open(path, "a", encoding="utf-8") as out:
            out.writelines(json.dumps(one._asdict()) + "\n" for one in rejected)
        sync_folder(path.parent)
