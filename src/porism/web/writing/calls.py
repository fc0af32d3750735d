"""The calls that change an index: put and delete a post, many changes at once, merge, and the state of the change log."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import Request

from porism.corpus.update.lines import LINE, read_json_lines
from porism.deadline import TimeLimitExceeded
from porism.errors import PorismError
from porism.files import lines_of
from porism.index.live.beside import merge_request, rejected_path
from porism.index.live.change_log import LogFullError, LogWriteError
from porism.index.manifest import SEARCH, read_manifest
from porism.web.api.errors import BadRequest
from porism.web.api.run_view import busy
from porism.web.api.slots import Busy
from porism.web.writing.access import WriteAccess
from porism.web.writing.tokens import Token

T = TypeVar("T")
MOST_BULK = 16 << 20  # bytes of a request with many changes
LOOK_SECONDS = 0.05  # between two looks whether a change is searchable
SHOWN_REJECTED = 20
RETRY_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Accepted:
    """A change that is stored on disk: its number in the change log, how many changes it has, and whether every search has them now."""

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
    """The change log: the numbers of the last change that was accepted, of the last one that is committed, and of the last one that every
    process of the server searches; how many wait; the segments of the index; and the last changes that could not be applied."""

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


async def put_post(request: Request, access: WriteAccess, token: Token, id: int, wait: int) -> Accepted:
    """Add a post, or replace the one with this id."""
    text = decoded(await request.body())
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}", where="body", fix=f"send {LINE}") from None
    if not isinstance(record, dict) or record.get("id", id) != id or record.keys() & OTHER_RECORDS:
        raise BadRequest(f"the body is not the post {id}", where="body", fix=f"send {LINE}")
    return await accept(request, access, [json.dumps({**record, "id": id})], wait)


async def delete_post(request: Request, access: WriteAccess, token: Token, id: int, wait: int) -> Accepted:
    """Delete a post: an answer, or a question with its answers. A post that is not there is no error."""
    return await accept(request, access, [json.dumps({"delete": id})], wait)


async def change_posts(request: Request, access: WriteAccess, token: Token, wait: int) -> Accepted:
    """Make many changes at once, given as JSON Lines. All are applied together, or none if a line is wrong."""
    return await accept(request, access, lines_of(decoded(await request.body())), wait)


async def request_merge(request: Request, access: WriteAccess, token: Token) -> MergeRequested:
    """Merge all segments of the index in the background, and learn vectors, concepts and spelling anew."""
    merge_request(access.index).touch(0o600)
    return MergeRequested(len(read_manifest(access.index, SEARCH).segments))


async def log_status(request: Request, access: WriteAccess, token: Token) -> LogStatus:
    """Report which changes are accepted, applied and searchable. Needs a token of any scope."""
    return await in_slot(request, lambda: _status(access))


def _status(access: WriteAccess) -> LogStatus:
    state, manifest = access.log.state(), read_manifest(access.index, SEARCH)
    applied = access.position().sequence
    path = rejected_path(access.index)
    lines = path.read_text("utf-8").splitlines()[-SHOWN_REJECTED:] if path.exists() else []
    rejected = tuple(
        RejectedChange(one["sequence"], json.dumps(one["change"])[:500], one["why"]) for one in map(json.loads, lines)
    )
    return LogStatus(
        state.last,
        max(applied, state.removed),
        access.served.least(),
        state.waiting(manifest.log_position),
        state.size,
        len(manifest.segments),
        merge_request(access.index).exists(),
        rejected,
    )


OTHER_RECORDS = {"delete", "delete_comment", "link", "comment"}
DELETING = {"delete", "delete_comment"}


async def accept(request: Request, access: WriteAccess, lines: list[str], wait: int) -> Accepted:
    """Check changes and store them on disk. Wait up to `wait` seconds until they are searchable.

    The token is checked again: a body may take long to arrive, and the operator may have revoked the token meanwhile.
    """

    def store() -> tuple[int, int]:
        read_json_lines(lines, "body")
        records = [json.loads(line) for line in lines if line.strip()]
        if not records:
            raise BadRequest("the body has no changes", where="body", fix=f"send {LINE}")
        deleting = any(record.keys() & DELETING for record in records)
        writing = any(not record.keys() & DELETING for record in records)
        access.authorise(request, [scope for scope, used in (("write", writing), ("delete", deleting)) if used])
        return access.log.append(records), len(records)

    sequence, number = await in_slot(request, store)
    end = time.monotonic() + wait
    while access.served.least() < sequence and time.monotonic() < end:
        await asyncio.sleep(LOOK_SECONDS)
    return Accepted(sequence, number, access.served.least() >= sequence)


async def in_slot(request: Request, work: Callable[[], T]) -> T:
    """Do work in a slot for queries, within the time limit, and report errors by their status."""
    state = request.app.state
    try:
        result: T = (await state.slots.run(work, state.seconds)).value
        return result
    except Busy:
        raise busy() from None
    except TimeLimitExceeded:
        raise BadRequest("the server is too slow at the moment", fix="send it again later", status=503) from None
    except LogWriteError as error:
        raise BadRequest(error.message, fix=error.fix, status=507) from None
    except LogFullError as error:
        raise BadRequest(error.message, fix=error.fix, status=429, retry_after=RETRY_SECONDS) from None
    except PorismError as error:
        raise BadRequest(error.message, where=error.where, fix=error.fix) from None


def decoded(body: bytes) -> str:
    """Return the text of a body, which must be UTF-8."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise BadRequest("the body is not UTF-8", where=f"body:{line}", fix="send UTF-8") from None
