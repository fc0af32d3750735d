"""A durable log of changes: a change is on disk before it is acknowledged, and applied to the index later.

The log is a file of lines, each with a checksum. The first line has the id of the log and the number of the last record
that is no longer in it; every other line is a record: its number and its changes as JSON. Several processes append; a
lock file lets one at a time do so. A line without an end is what a process that died was writing: it was never
acknowledged, so it is removed, unless only its line end is missing or damaged. A whole line with a wrong checksum is
damage: it is reported and left out. A file that is shorter than before is refused."""

from __future__ import annotations

import json
import logging
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

from xxhash import xxh3_64_hexdigest

from porism.errors import PorismError
from porism.files import disk_error, sync_folder
from porism.locks import lock
from porism.store import open_store
from porism.store.protocols import LogPosition
from porism.store.state import State

LOG = logging.getLogger("porism.store")
KIND = "porism-log-1"
MODE = 0o600  # posts that are not public yet may be in it
BLOCK = 1 << 20
MOST_WAITING = 256 << 20  # bytes that may wait to be applied


class LogRecord(NamedTuple):
    """A record of the log: its number, and its changes as `corpus.update.lines` reads them, or its line if damaged."""

    sequence: int
    changes: tuple[Any, ...]
    damaged: bytes = b""


class LogState(NamedTuple):
    """The state of a log: its id, the last records that were removed and that were added, and its size in bytes."""

    log: str
    removed: int
    last: int
    size: int

    def waiting(self, position: LogPosition) -> int:
        """Return how many records an index at this position does not have yet."""
        return self.last - max(self.removed, position.sequence if position.log == self.log else 0)


class LogWriteError(PorismError):
    """A change could not be written to the log, so it is not accepted."""


class LogFullError(PorismError):
    """Too many changes wait to be applied."""


class ChangeLog:
    """The change log at a path. Every process opens its own; methods may be called by many threads."""

    def __init__(self, path: str | Path, position: LogPosition | None = None) -> None:
        """Open a log, or create it. `position` is the one that the index has: no record with an older number is added
        to the same log."""
        self.path = Path(path)
        self._lock_path = self.path.with_name(f".{self.path.name}.lock")
        self._end = LogState("", -1, 0, 0)
        with self._locked():
            if not self.path.exists():
                self._replace(uuid.uuid4().hex, 0, b"")
            with self._opened() as handle:
                end = self._find_end(handle)
            if position is not None and position.log == end.log and position.sequence > end.last:
                self._replace(end.log, position.sequence, b"")

    def state(self) -> LogState:
        """Return the present state."""
        with self._locked(), self._opened() as handle:
            return self._find_end(handle)

    def append(self, changes: Sequence[Any]) -> int:
        """Write one record, whose changes are applied together; wait until it is on disk, and return its number."""
        text = json.dumps(list(changes), separators=(",", ":"))
        with self._locked(), self._opened() as handle:
            end = self._find_end(handle)
            if end.size > MOST_WAITING:
                raise LogFullError("too many changes wait to be applied", fix="send the change again later")
            sequence = end.last + 1
            line = _line(f"{sequence} {text}")
            try:
                _write(handle, line, end.size)
                os.fsync(handle)
            except OSError as error:
                with suppress(OSError):
                    os.ftruncate(handle, end.size)
                fact = f"the change cannot be stored: {error.strerror or error}"
                raise LogWriteError(fact, fix="free disk space on the server, then send the change again") from error
            self._end = end._replace(last=sequence, size=end.size + len(line))
        return sequence

    def read(self, after: int, most_bytes: int = 1 << 62) -> Iterator[LogRecord]:
        """Yield the records after a number, until more than `most_bytes` were read or a line is not complete."""
        with open(self.path, "rb") as stream:
            header = _content(stream.readline())
            if header is None:
                raise self._damaged()
            read = 0
            for line in _lines(stream, int(header.split(b" ")[2])):
                if read > most_bytes:
                    return
                if line.sequence > after:
                    read += len(line.raw)
                    yield line.record()

    def trim(self, applied: int, *, least: int = 0) -> bool:
        """Remove the records up to a number, if they take `least` bytes. Return whether the file was replaced."""
        with self._locked():
            with self._opened() as handle:
                end = self._find_end(handle)
            with open(self.path, "rb") as stream:
                stream.readline()
                sequence, removed = end.removed, stream.tell()
                for line in _lines(stream, end.removed):
                    if line.sequence > applied:
                        break
                    sequence, removed = max(sequence, line.sequence), removed + len(line.raw)
                stream.seek(removed)
                kept = stream.read(end.size - removed)
            if sequence == end.removed or (removed < least and kept):
                return False
            self._replace(end.log, sequence, kept)
        return True

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the log. It ends with the process, however that ends."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, MODE)
        try:
            lock(handle, wait=True)
            yield
        finally:
            os.close(handle)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        handle = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        try:
            yield handle
        finally:
            os.close(handle)

    def _find_end(self, handle: int) -> LogState:
        """Return the state at the end of the last whole line; what follows is removed. Only what is new is read."""
        first = os.pread(handle, 256, 0)
        header = _content(first[: first.find(b"\n") + 1])
        if header is None or not header.startswith(f"{KIND} ".encode()):
            raise self._damaged()
        _, log, base = header.decode().split(" ")
        if self._end[:2] != (log, int(base)):
            self._end = LogState(log, int(base), int(base), first.find(b"\n") + 1)
        last, offset = self._end.last, self._end.size
        size = os.fstat(handle).st_size
        if size < offset:
            raise self._damaged(f"has {offset - size:,} bytes less than before: changes are missing")
        while offset < size:
            block = os.pread(handle, BLOCK, offset)
            whole = block.rfind(b"\n") + 1
            while not whole and offset + len(block) < size:
                block += os.pread(handle, BLOCK, offset + len(block))
                whole = block.rfind(b"\n") + 1
            if not whole:
                self._end_line(handle, block, offset)
                size = os.fstat(handle).st_size
                continue
            for line in _lines(BytesIO(block[:whole]), last):
                last = line.sequence
            offset += whole
        self._end = self._end._replace(last=last, size=offset)
        return self._end

    def _end_line(self, handle: int, tail: bytes, offset: int) -> None:
        """End the last line, if only its line end is damaged or missing; else remove it."""
        line = _ended(tail)
        if line:
            _write(handle, line, offset)
        else:
            LOG.warning("%s: an unfinished record of %s bytes is removed", self.path, f"{len(tail):,}")
        os.ftruncate(handle, offset + len(line))

    def _replace(self, log: str, base: int, records: bytes) -> None:
        """Put another file in place of the log, atomically and durably."""
        work = self.path.with_name(f".{self.path.name}.new")
        try:
            with open(os.open(work, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, MODE), "wb") as out:
                out.write(_line(f"{KIND} {log} {base}") + records)
                out.flush()
                os.fsync(out.fileno())
            os.replace(work, self.path)
            sync_folder(self.path.parent)
        except OSError as error:
            work.unlink(missing_ok=True)
            raise disk_error(error, self.path) from error

    def _damaged(self, fact: str = "is not a change log that can be read") -> PorismError:
        fix = "stop the server, move the file away, and send the changes that it holds again"
        return PorismError(fact, where=str(self.path), fix=f"{fix}: mv {self.path} {self.path}.damaged")


def _line(text: str) -> bytes:
    content = text.encode("ascii")
    return xxh3_64_hexdigest(content).encode() + b" " + content + b"\n"


def _content(line: bytes) -> bytes | None:
    """Return what a whole line holds; None if its checksum is wrong."""
    checksum, _, content = line.removesuffix(b"\n").partition(b" ")
    return content if line.endswith(b"\n") and xxh3_64_hexdigest(content).encode() == checksum else None


def _ended(tail: bytes) -> bytes:
    """Return the last line of a file with its line end, if only that is damaged or missing; else nothing."""
    lines = (tail + b"\n", tail[:-1] + b"\n")
    return next((line for line in lines if _content(line) is not None), b"")


class _Line(NamedTuple):
    """A whole line of the file, with the number of its record; `content` is None if the line is damaged."""

    sequence: int
    raw: bytes
    content: bytes | None

    def record(self) -> LogRecord:
        """Return the record of the line."""
        if self.content is None:
            return LogRecord(self.sequence, (), self.raw)
        return LogRecord(self.sequence, tuple(json.loads(self.content.partition(b" ")[2])))


def _lines(stream: IO[bytes], sequence: int) -> Iterator[_Line]:
    """Yield the whole lines of records. Every line names its number; damaged lines have the first number that is
    missing.

    Several damaged lines share it: they may be one record into which damage put a line end. So none gets the number of
    a later record."""
    for read in stream:
        raw = read if read.endswith(b"\n") else _ended(read)
        if not raw:
            return
        content = _content(raw)
        if content is not None:
            sequence = int(content.partition(b" ")[0])
        yield _Line(sequence + (content is None), raw, content)


def _write(handle: int, data: bytes, offset: int) -> None:
    """Write all bytes at an offset."""
    view = memoryview(data)
    while view:
        written = os.pwrite(handle, view, offset)
        view, offset = view[written:], offset + written


def open_log(places: State) -> ChangeLog:
    """Open the change log of a store, or create it."""
    return ChangeLog(places.log, open_store(places.address).status().log_position)
