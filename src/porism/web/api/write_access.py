"""What a process needs to take changes: the change log, the tokens, and what all processes serve."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

from porism.accounts import AccessToken, TokenFile
from porism.errors import PorismError
from porism.store import open_store
from porism.store.change_log import ChangeLog, open_log
from porism.store.protocols import LogPosition
from porism.store.state import State
from porism.web.http.errors import LOG, BadRequest
from porism.web.http.slots import busy

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
        check_scopes(token, scopes)
        return token


def check_scopes(token: AccessToken, scopes: Iterable[str]) -> None:
    """Answer 403 if a token lacks a scope."""
    if missing := [scope for scope in scopes if scope not in token.scopes]:
        fix = f"use a token with the scope {missing[0]}: porism site tokens create INDEX --scope {missing[0]}"
        raise BadRequest(f"the token lacks the scope {missing[0]}", where="Authorization", fix=fix, status=403)
