"""Changes of an index over HTTP: what a process needs to take them (the change log, the tokens, and what all processes
serve), and the calls: put and delete a post, many changes at once, merge, state of the change log."""

from __future__ import annotations

import asyncio
import json
import mmap
import os
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from starlette.requests import Request

from porism.accounts import AccessToken, TokenFile
from porism.corpus.sources.raw import FAULTS
from porism.corpus.update.changes import LINE, Changes, checked_records, parse_line
from porism.deadline import TimeLimitExceeded
from porism.errors import PorismError, StoreUnavailable
from porism.store import open_store
from porism.store.change_log import ChangeLog, LogFullError, LogWriteError, open_log
from porism.store.protocols import LogPosition
from porism.store.state import State
from porism.web.api.results import Busy, busy
from porism.web.http.requests import LOG, BadRequest

T = TypeVar("T")
SLOTS = 1024
SLOT = struct.Struct("<qq")  # process, sequence


class ServedPositions:
    """The number of the last change that each serving process searches. Created before the processes are forked."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, SLOTS * SLOT.size)

    def set(self, sequence: int) -> None:
        """Report that this process searches all changes up to this one."""
        own = os.getpid()
        for step in range(SLOTS):
            at = (own + step) % SLOTS
            process, _ = self._slot(at)
            if process in (0, own) or not _is_alive(process):
                self._memory[at * SLOT.size : (at + 1) * SLOT.size] = SLOT.pack(own, sequence)
                return

    def least(self) -> int:
        """Return the number of the last change that every process searches."""
        slots = [self._slot(at) for at in range(SLOTS)] if any(self._memory) else []
        return min((sequence for process, sequence in slots if process and _is_alive(process)), default=0)

    def _slot(self, at: int) -> tuple[int, int]:
        process, sequence = SLOT.unpack_from(self._memory, at * SLOT.size)
        return process, sequence


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


MOST_BULK_REQUESTS = 2  # with many changes each, that a process reads and checks at the same time
READ_ONLY = BadRequest(
    "this server takes no changes", fix="the operator starts it with: porism serve INDEX --writable", status=405
)


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """The settings of a server that takes changes. Made before its processes are forked."""

    state: State
    tokens: Path
    served: ServedPositions

    @classmethod
    def of(cls, index: str | Path, tokens: str | Path = "", state: str | Path | None = None) -> WriteSettings:
        """Return the settings of an index; its state has the default file of tokens. Wrong files are errors here."""
        places = State.of(index, state)
        found = cls(places, Path(tokens) if tokens else places.tokens, ServedPositions())
        TokenFile(found.tokens).tokens()
        open_log(places)
        return found


class WriteAccess:
    """The change log and the tokens of an index, opened in a serving process."""

    def __init__(self, settings: WriteSettings) -> None:
        self.state = settings.state
        self.store = open_store(settings.state.address)
        self.log: ChangeLog = open_log(settings.state)
        self.tokens = TokenFile(settings.tokens)
        self.served = settings.served
        self._log = self.log.state().log
        self._bulk = 0

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """Take a place for a request with many changes; without one, answer 429 before its large body is read."""
        if self._bulk >= MOST_BULK_REQUESTS:
            raise busy()
        self._bulk += 1
        try:
            yield
        finally:
            self._bulk -= 1

    def position(self) -> LogPosition:
        """Return the position of the newest commit of the index in this log."""
        found = self.store.status().log_position
        return found if found.log == self._log else LogPosition(self._log, 0)

    def authorise(self, request: Request, scopes: Iterable[str]) -> AccessToken:
        """Return the token of a request, which must have these scopes; else answer 401 or 403."""
        kind, _, text = request.headers.get("authorization", "").partition(" ")
        try:
            token = self.tokens.find(text.strip()) if kind.lower() == "bearer" else None
        except PorismError as error:
            LOG.error("tokens cannot be checked: %s", error)
            fix = "the operator finds the reason in the log of the server"
            raise BadRequest("tokens cannot be checked at the moment", fix=fix, status=503) from None
        if token is None:
            maker = "the operator makes one with: porism site tokens create INDEX"
            fact = "the token is not valid" if text else "a token is needed"
            refusal = BadRequest(
                fact, where="Authorization", fix=f"send the header Authorization: Bearer TOKEN; {maker}", status=401
            )
            refusal.headers["www-authenticate"] = "Bearer"
            raise refusal
        if missing := [scope for scope in scopes if scope not in token.scopes]:
            fix = f"use a token with the scope {missing[0]}: porism site tokens create INDEX --scope {missing[0]}"
            raise BadRequest(f"the token lacks the scope {missing[0]}", where="Authorization", fix=fix, status=403)
        return token


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

    def work() -> LogStatus:
        state, status = access.log.state(), access.store.status()
        rejected = map(json.loads, last_lines(access.state.rejected))
        return LogStatus(
            accepted=state.last,
            applied=max(access.position().sequence, state.removed),
            searchable=access.served.least(),
            waiting=state.waiting(status.log_position),
            bytes=state.size,
            segments=status.parts,
            merge_requested=access.state.merge_request.exists(),
            rejected=tuple(
                RejectedChange(one["sequence"], json.dumps(one["change"])[:500], one["why"]) for one in rejected
            ),
        )

    return await in_slot(request, work)


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


async def accept(request: Request, access: WriteAccess, body: bytes, wait: int) -> Accepted:
    """Check changes, JSON Lines, and store them on disk. Wait up to `wait` seconds until they are searchable."""
    return await searchable(access, await store(request, access, body), wait)


async def store(request: Request, access: WriteAccess, body: bytes) -> Accepted:
    """Check changes and store them on disk.

    The token is checked again: a body may take long to arrive, and the operator may have revoked the token meanwhile.
    """

    def work() -> Accepted:
        # One line at a time: as text, all of them could take four times as much memory.
        lines = (decoded(line, number) for number, line in enumerate(body.split(b"\n"), 1))
        records = list(checked_records(lines, "body", Changes()))
        if not records:
            raise BadRequest("the body has no changes", where="body", fix=f"send {LINE}")
        deleting = any(record.keys() & DELETING for record in records)
        writing = any(not record.keys() & DELETING for record in records)
        access.authorise(request, [scope for scope, used in (("write", writing), ("delete", deleting)) if used])
        return Accepted(access.log.append(records), len(records), searchable=False)

    return await in_slot(request, work)


async def searchable(access: WriteAccess, stored: Accepted, wait: int) -> Accepted:
    """Wait up to `wait` seconds until changes are searchable."""
    end = time.monotonic() + wait
    while access.served.least() < stored.sequence and time.monotonic() < end:
        await asyncio.sleep(LOOK_SECONDS)
    return replace(stored, searchable=access.served.least() >= stored.sequence)


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


def decoded(body: bytes, line: int = 1) -> str:
    """Return the text of a body, or of a line of one, which must be UTF-8."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        place = line + body.count(b"\n", 0, error.start)
        raise BadRequest("the body is not UTF-8", where=f"body:{place}", fix="send UTF-8") from None
