"""The calls that change an index: put and delete a post, many changes at once, merge, state of the change log."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from starlette.requests import Request

from porism.corpus.sources.raw import FAULTS
from porism.corpus.update.changes import LINE, Changes, checked_records, parse_line
from porism.deadline import TimeLimitExceeded
from porism.errors import PorismError, StoreUnavailable
from porism.store.change_log import LogFullError, LogWriteError
from porism.web.api.write_access import WriteAccess
from porism.web.http.errors import BadRequest
from porism.web.http.slots import Busy, busy

T = TypeVar("T")
UPLOADS = {"/v1/posts": 16 << 20}  # bytes of a request with many changes
MOST_LINES = 50_000  # of such a request; empty ones count, too
LOOK_SECONDS = 0.05  # between two looks whether a change is searchable
SHOWN_REJECTED, SHOWN_BYTES = 20, 4 << 20
RETRY_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Accepted:
    """A change on disk: its number in the change log, how many changes it has, and whether every search has them."""

    sequence: int
    changes: int
    searchable: bool


@dataclass(frozen=True, slots=True)
class RejectedChange:
    """A change that was stored and could not be applied: its number, the change, and why."""

    sequence: int
    change: str
    why: str


@dataclass(frozen=True, slots=True)
class LogStatus:
    """The change log: the numbers of the last change that was accepted, of the last one that is committed, and of the
    last one that every process of the server searches; how many wait; the segments of the index; and the last changes
    that could not be applied."""

    accepted: int
    applied: int
    searchable: int
    waiting: int
    bytes: int
    segments: int
    merge_requested: bool
    rejected: tuple[RejectedChange, ...]


@dataclass(frozen=True, slots=True)
class MergeRequested:
    """A merge of all segments that is requested: it runs in the background."""

    segments: int


async def put_post(request: Request, access: WriteAccess, id: int, wait: int) -> Accepted:
    """Add a post, or replace the one with this id."""
    body = await request.body()
    try:
        record = parse_line(decoded(body))
    except FAULTS as error:
        raise BadRequest(f"the body is not JSON: {error}", where="body", fix=f"send {LINE}") from None
    if not isinstance(record, dict) or record.get("id", id) != id or record.keys() & OTHER_RECORDS:
        raise BadRequest(f"the body is not the post {id}", where="body", fix=f"send {LINE}")
    return await accept(request, access, json.dumps({**record, "id": id}).encode(), wait)


async def delete_post(request: Request, access: WriteAccess, id: int, wait: int) -> Accepted:
    """Delete a post: an answer, or a question with its answers. A post that is not there is no error."""
    return await accept(request, access, json.dumps({"delete": id}).encode(), wait)


async def change_posts(request: Request, access: WriteAccess, wait: int) -> Accepted:
    """Make many changes at once, given as JSON Lines. All are applied together, or none if a line is wrong."""
    with access.bulk():
        body = await request.body()
        if body.count(b"\n") > MOST_LINES:
            fix = "send the changes in several requests"
            raise BadRequest(f"the body has more than {MOST_LINES:,} lines", where="body", fix=fix, status=413)
        stored = await store(request, access, body)
    return await searchable(access, stored, wait)


async def request_merge(request: Request, access: WriteAccess) -> MergeRequested:
    """Merge all segments of the index in the background, and learn vectors, concepts and spelling anew."""
    access.state.merge_request.touch(0o600)
    return MergeRequested(access.store.status().parts)


async def log_status(request: Request, access: WriteAccess) -> LogStatus:
    """Report which changes are accepted, applied and searchable. Needs a token of any scope."""
    return await in_slot(request, lambda: _status(access))


def _status(access: WriteAccess) -> LogStatus:
    state, status = access.log.state(), access.store.status()
    applied = access.position().sequence
    rejected = tuple(
        RejectedChange(one["sequence"], json.dumps(one["change"])[:500], one["why"])
        for one in map(json.loads, last_lines(access.state.rejected))
    )
    return LogStatus(
        state.last,
        max(applied, state.removed),
        access.served.least(),
        state.waiting(status.log_position),
        state.size,
        status.parts,
        access.state.merge_request.exists(),
        rejected,
    )


def last_lines(path: Path) -> list[bytes]:
    """Return the last whole lines of a file that only grows, of which no more than SHOWN_BYTES are read."""
    if not path.exists():
        return []
    with open(path, "rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - SHOWN_BYTES - 1))
        if stream.tell():
            stream.readline()  # the rest of a line
        return stream.read().splitlines()[-SHOWN_REJECTED:]


OTHER_RECORDS = {"delete", "delete_comment", "link", "comment"}
DELETING = {"delete", "delete_comment"}


class StoredChanges(NamedTuple):
    """Changes on disk: their number in the change log, and how many they are."""

    sequence: int
    changes: int


async def accept(request: Request, access: WriteAccess, body: bytes, wait: int) -> Accepted:
    """Check changes, JSON Lines, and store them on disk. Wait up to `wait` seconds until they are searchable."""
    return await searchable(access, await store(request, access, body), wait)


async def store(request: Request, access: WriteAccess, body: bytes) -> StoredChanges:
    """Check changes and store them on disk.

    The token is checked again: a body may take long to arrive, and the operator may have revoked the token meanwhile.
    """

    def work() -> StoredChanges:
        records = list(checked_records(lines_in(body), "body", Changes()))
        if not records:
            raise BadRequest("the body has no changes", where="body", fix=f"send {LINE}")
        deleting = any(record.keys() & DELETING for record in records)
        writing = any(not record.keys() & DELETING for record in records)
        access.authorise(request, [scope for scope, used in (("write", writing), ("delete", deleting)) if used])
        return StoredChanges(access.log.append(records), len(records))

    return await in_slot(request, work)


async def searchable(access: WriteAccess, stored: StoredChanges, wait: int) -> Accepted:
    """Wait up to `wait` seconds until changes are searchable."""
    end = time.monotonic() + wait
    while access.served.least() < stored.sequence and time.monotonic() < end:
        await asyncio.sleep(LOOK_SECONDS)
    return Accepted(stored.sequence, stored.changes, access.served.least() >= stored.sequence)


async def in_slot(request: Request, work: Callable[[], T]) -> T:
    """Do work in a slot for queries, within the time limit, and report errors by their status."""
    state = request.app.state
    try:
        result: T = (await state.slots.run(work, state.seconds)).value
        return result
    except Busy:
        raise busy() from None
    except StoreUnavailable:
        raise
    except TimeLimitExceeded:
        raise BadRequest("the server is too slow at the moment", fix="send it again later", status=503) from None
    except LogWriteError as error:
        raise BadRequest(error.message, fix=error.fix, status=507) from None
    except LogFullError as error:
        raise BadRequest(error.message, fix=error.fix, status=429, retry_after=RETRY_SECONDS) from None
    except PorismError as error:
        raise BadRequest(error.message, where=error.where, fix=error.fix) from None


def lines_in(body: bytes) -> Iterator[str]:
    """Yield the lines of a body, one at a time: as text, all of them could take four times as much memory."""
    for number, line in enumerate(body.split(b"\n"), 1):
        yield decoded(line, number)


def decoded(body: bytes, line: int = 1) -> str:
    """Return the text of a body, or of a line of one, which must be UTF-8."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        place = line + body.count(b"\n", 0, error.start)
        raise BadRequest("the body is not UTF-8", where=f"body:{place}", fix="send UTF-8") from None
